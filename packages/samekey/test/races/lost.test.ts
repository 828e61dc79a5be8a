/** Replies of the store and answers to the client that get lost on the way. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { essenceOf } from '../processes/api-checks.ts';
import { type ApiRequest, send } from '../processes/api-client.ts';
import type { ApiProcess, Cluster } from '../processes/api-cluster.ts';
import { executionsOf } from '../processes/api-ledger.ts';
import type { TrapPoint } from '../processes/api-protocol.ts';
import { ask, askUntil, wordOf } from './asking.ts';
import { onEachStore } from './each-store.ts';

onEachStore(
  'lost',
  (clusterOf) => {
    let cluster: Cluster;
    let one: ApiProcess;
    let two: ApiProcess;
    beforeAll(async () => {
      cluster = await clusterOf({ size: 2, claimTtlMs: 10_000, storeTimeMaxMs: 400 });
      [one, two] = cluster.processes as [ApiProcess, ApiProcess];
    });
    afterAll(() => cluster.close());

    const executed = (key: string): number => executionsOf(cluster.ledger(), key, 'tenant-a').length;

    // F15
    describe('a reply of the store that got lost', () => {
      it.each(['claim', 'finish'] as const)(
        'after a %s was applied changes nothing: one run, one answer',
        async (verb) => {
          const request: ApiRequest = { path: '/unknown/now', key: `lost-${verb}` };
          await one.loseReplies(verb, 2);
          const first = await ask(one, request);
          expect(wordOf(first)).toBe('201');
          expect(JSON.parse(first.body)).toMatchObject({ attempt: 1 });
          expect(essenceOf(await ask(two, request))).toBe(essenceOf(first));
          expect(executed(request.key)).toBe(1);
        },
      );

      it.each([0, 1])(
        'until the claim was given up frees the key long before the claim ends, for a retry at process %s',
        async (place) => {
          const request: ApiRequest = { path: '/unknown/now', key: `given-up-${place}` };
          await one.loseReplies('claim', 10_000);
          expect(wordOf(await ask(one, request))).toBe('store-unavailable');
          await one.loseReplies('claim', 0);
          const retry = await askUntil(cluster.processes[place]!, request, '201');
          // A claim that had ended by itself would have left the key unknown.
          expect(executed(request.key)).toBe(1);
          expect(essenceOf(await ask(two, request))).toBe(essenceOf(retry));
        },
      );
    });

    describe('a client that hangs up', () => {
      it.each([
        // F17
        ['while the handler works', 'handler.effect'],
        // F18
        ['when the answer is on its way', 'answer.before'],
      ] as const)('%s gets what the first run answered when it retries', async (_, point: TrapPoint) => {
        const request: ApiRequest = { path: '/unknown/now', key: `hung-up-${point}` };
        const trap = await one.arm({ point, key: request.key, action: 'wait' });
        const sent = send(one.port, request);
        await trap.reached;
        sent.hangUp();
        expect(await sent.answer).toMatchObject({ kind: 'lost' });
        // A whole exchange later the process has heard of it.
        await ask(one, { path: '/unknown/now', key: `after-${request.key}` });
        await trap.go();
        const retry = await askUntil(two, request, '201');
        const [execution] = executionsOf(cluster.ledger(), request.key, 'tenant-a');
        expect(retry.headers.get('x-effect')).toBe(execution!.effect);
        expect(essenceOf(await ask(one, request))).toBe(essenceOf(retry));
        expect(executed(request.key)).toBe(1);
      });
    });
  },
  { but: ['pgbouncer'] },
);
