/**
 * What API processes do when the reply to one statement of their store gets lost on the way, after the server has applied it: the same on
 * every database that a proxy can read. Whoever asked cannot know; the handler runs once all the same, and there is one answer.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { essenceOf } from '../processes/api-checks.ts';
import type { ApiRequest } from '../processes/api-client.ts';
import { type ApiProcess, type Cluster, startCluster } from '../processes/api-cluster.ts';
import { executionsOf } from '../processes/api-ledger.ts';
import type { Backend, Place } from '../processes/backends/backend.ts';
import type { FaultProxy } from '../services/fault-proxy.ts';
import { ask, askUntil, wordOf } from './asking.ts';

/** A dead connection is noticed after this and a margin of the store's. */
const STATEMENT_TIME_MAX_MS = 300;
const CLAIM_TTL_MS = 900;

/** What a lost reply leaves of its connection. */
export const LEAVES = ['closed', 'half-open'] as const;

/** What to lose replies of. */
export interface Losable<Kind extends string> {
  proxy(): FaultProxy;
  /** An empty place behind the proxy, and the backend it is on. */
  open(): Promise<{ readonly place: Place; readonly backend: Backend }>;
  readonly statements: Readonly<Record<Kind | 'claim', RegExp>>;
  /** Whose replies are lost in turn. */
  readonly kinds: readonly Kind[];
  /** Of these, which may be cut off before the server has seen them. */
  readonly cutBefore: readonly Kind[];
}

/** The tests, inside a `describe` that starts server and proxy. */
export function lostReplies<Kind extends string>(of: Losable<Kind>): void {
  describe('on its way to an API process', () => {
    let cluster: Cluster;
    let one: ApiProcess;
    let two: ApiProcess;
    beforeAll(async () => {
      const { place, backend } = await of.open();
      const address = { ...place.address, statementTimeMaxMs: STATEMENT_TIME_MAX_MS };
      cluster = await startCluster({
        backend,
        place: { ...place, address },
        size: 2,
        claimTtlMs: CLAIM_TTL_MS,
        storeTimeMaxMs: 3_000,
      });
      [one, two] = cluster.processes as [ApiProcess, ApiProcess];
    });
    afterAll(() => cluster.close());

    const cases = of.kinds.flatMap((kind) => LEAVES.map((leaves) => ({ kind, leaves })));
    // F15, F44
    it.each(cases)('to a $kind changes nothing when its connection is $leaves', async ({ kind, leaves }) => {
      const request: ApiRequest = {
        path: '/unknown/now',
        key: `${kind}-${leaves}`,
        // Long enough for a renewal.
        workMs: kind === 'renew' ? CLAIM_TTL_MS : 0,
      };
      // A record is looked up by a process that does not know it from before.
      const before = kind === 'find' ? await ask(one, request) : undefined;
      const fault = of.proxy().arm({ statement: of.statements[kind], what: 'lose-reply', leaves });
      const first = await ask(before === undefined ? one : two, request);
      await fault.happened;
      expect(wordOf(first)).toBe('201');
      expect(JSON.parse(first.body)).toMatchObject({ attempt: 1 });
      if (before !== undefined) expect(essenceOf(first)).toBe(essenceOf(before));
      for (const process of [one, two]) {
        expect(essenceOf(await askUntil(process, request, '201'))).toBe(essenceOf(first));
      }
      expect(executionsOf(cluster.ledger(), request.key, 'tenant-a')).toHaveLength(1);
    });

    it('does not come at all, when the connection is cut before the statement: it is asked again', async () => {
      for (const kind of of.cutBefore) {
        const request: ApiRequest = { path: '/unknown/now', key: `cut-${kind}` };
        const fault = of.proxy().arm({ statement: of.statements[kind], what: 'cut-before' });
        const first = await ask(one, request);
        await fault.happened;
        expect(wordOf(first)).toBe('201');
        expect(essenceOf(await ask(two, request))).toBe(essenceOf(first));
        expect(executionsOf(cluster.ledger(), request.key, 'tenant-a')).toHaveLength(1);
      }
    });

    it('comes late, when the statement was held up: within the bound nobody notices', async () => {
      const request: ApiRequest = { path: '/unknown/now', key: 'delayed' };
      const fault = of.proxy().arm({ statement: of.statements.claim, what: 'delay', delayMs: 200 });
      const first = await ask(one, request);
      await fault.happened;
      expect(wordOf(first)).toBe('201');
      expect(executionsOf(cluster.ledger(), request.key, 'tenant-a')).toHaveLength(1);
    });
  });
}
