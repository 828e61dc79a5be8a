/** Owners that die, freeze, or come back late; claims end in real time, so they are short here. */

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { essenceOf, faultOfInProgress } from '../processes/api-checks.ts';
import { type Answer, type ApiRequest, type NoAnswer, send } from '../processes/api-client.ts';
import type { ApiProcess, Cluster } from '../processes/api-cluster.ts';
import { executionsOf } from '../processes/api-ledger.ts';
import { ask, askUntil, wordOf } from './asking.ts';
import { onEachStore } from './each-store.ts';

const CLAIM_TTL_MS = 900;
/** Long enough for a Retry-After of more than the shortest; a store's own clock counts from the claim. */
const F1_CLAIM_TTL_MS = 2_200;

const toldOf = (process: ApiProcess, key: string): string[] =>
  process.events.filter((event) => event.key === key).map(({ name }) => name);
const essence = (answer: Answer | NoAnswer): string =>
  answer.kind === 'lost' ? answer.reason : essenceOf(answer);

onEachStore(
  'owners',
  (clusterOf) => {
    let cluster: Cluster;
    let one: ApiProcess;
    let two: ApiProcess;

    const attemptsOf = (key: string): number[] =>
      executionsOf(cluster.ledger(), key, 'tenant-a').map(({ attempt }) => attempt);

    async function start(claimTtlMs: number): Promise<void> {
      cluster = await clusterOf({ size: 2, claimTtlMs });
      [one, two] = cluster.processes as [ApiProcess, ApiProcess];
    }

    /** Freezes the first process after its effect; resolves with its client's answer, still to come. */
    async function frozen(request: ApiRequest): Promise<Promise<Answer | NoAnswer>[]> {
      const trap = await one.arm({ point: 'handler.effect', key: request.key, action: 'stop' });
      const first = send(one.port, request).answer;
      await trap.reached;
      // In an array, or the await of this function would wait for the answer too.
      return [first];
    }
    async function thaw(): Promise<void> {
      await sleep(CLAIM_TTL_MS);
      one.signal('SIGCONT');
    }

    // F1
    describe('a process killed after its claim', () => {
      beforeAll(() => start(F1_CLAIM_TTL_MS));
      afterAll(() => cluster.close());

      it.each([
        ['unknown', 'outcome-unknown', []],
        ['resume', '201', [2]],
      ] as const)(
        'leaves a key in progress for the rest of the claim, then %s',
        async (way, word, attempts) => {
          const request: ApiRequest = { path: `/${way}/now`, key: `killed-${way}` };
          await one.arm({ point: 'claim.applied', key: request.key, action: 'kill' });
          const sentAt = performance.now();
          expect(await send(one.port, request).answer).toMatchObject({ kind: 'lost' });
          await one.ended;

          const atOnce = await ask(two, request);
          expect(wordOf(atOnce)).toBe('in-progress');
          // Whole seconds, rounded down: never longer than the claim has left.
          expect(faultOfInProgress(atOnce, F1_CLAIM_TTL_MS)).toBeNull();
          await askUntil(two, request, word);
          expect(performance.now() - sentAt).toBeGreaterThan(F1_CLAIM_TTL_MS - 50);
          expect(attemptsOf(request.key)).toEqual(attempts);
          one = await cluster.restart(0);
          expect(wordOf(await ask(one, request))).toBe(word);
        },
      );
    });

    describe('a process frozen for twice its claim', () => {
      beforeAll(() => start(CLAIM_TTL_MS));
      afterAll(() => cluster.close());

      // F4
      it('still finishes its record if nobody decided otherwise', async () => {
        const request: ApiRequest = { path: '/unknown/now', key: 'frozen-own' };
        const [first] = await frozen(request);
        await askUntil(two, request, 'outcome-unknown');
        await thaw();
        const answer = await first!;
        expect(wordOf(answer)).toBe('201');
        expect(essence(await ask(two, request))).toBe(essence(answer));
        expect(attemptsOf(request.key)).toEqual([1]);
        expect(toldOf(one, request.key)).not.toContain('contradiction');
      });

      // F4
      it('is refused when a later attempt has run, and its client gets the answer of that', async () => {
        const request: ApiRequest = { path: '/resume/now', key: 'frozen-resumed' };
        const [first] = await frozen(request);
        const second = await askUntil(two, request, '201');
        await thaw();
        expect(essence(await first!)).toBe(essence(second));
        expect(essence(await ask(one, request))).toBe(essence(second));
        expect(attemptsOf(request.key)).toEqual([1, 2]);
        expect(toldOf(one, request.key)).toContain('contradiction');
      });

      // F4, F6
      it('is refused when an operator has settled its record, and its client gets the settled answer', async () => {
        const request: ApiRequest = { path: '/unknown/now', key: 'frozen-settled' };
        const [first] = await frozen(request);
        await askUntil(two, request, 'outcome-unknown');
        const record = (await cluster.store.list({ states: ['unknown'] })).find(
          ({ key }) => key === request.key,
        )!;
        const body = new TextEncoder().encode('{"settled":true}');
        const { scope, key, claimId, attempt } = record;
        const response = { status: 402, headers: [['Content-Type', 'application/json'] as const], body };
        await cluster.store.settle([
          { scope, key, claimId, attempt, to: 'failed', reason: 'looked up', actor: null, response },
        ]);
        await thaw();
        expect(await first!).toMatchObject({ status: 402, body: '{"settled":true}' });
        expect(await ask(two, request)).toMatchObject({ status: 402, body: '{"settled":true}' });
        expect(attemptsOf(request.key)).toEqual([1]);
        expect(toldOf(one, request.key)).toContain('contradiction');
      });

      // F5
      it('may claim again while its old run still works, and the old run writes nothing', async () => {
        const request: ApiRequest = { path: '/resume/now', key: 'frozen-same-process', workMs: 1_500 };
        const [first] = await frozen(request);
        for (let ended = false; !ended; await sleep(50)) {
          ended = (await cluster.store.sweep(100)).some(
            ({ key, to }) => key === request.key && to === 'retryable',
          );
        }
        await thaw();
        const second = await askUntil(one, request, '201');
        // The old run ended while the new one was at work.
        expect(wordOf(await first!)).toBe('in-progress');
        const executions = executionsOf(cluster.ledger(), request.key, 'tenant-a');
        expect(executions.map(({ attempt, pid }) => [attempt, pid])).toEqual([
          [1, one.pid],
          [2, one.pid],
        ]);
        expect(second.headers.get('x-effect')).toBe(executions[1]!.effect);
        expect(toldOf(one, request.key)).toContain('contradiction');
        expect(essence(await ask(two, request))).toBe(essence(second));
      });
    });
  },
  { but: ['pgbouncer'] },
);
