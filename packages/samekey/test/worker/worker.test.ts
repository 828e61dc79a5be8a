/** The worker on real databases: deliveries, failures, groups, delays, stopping. */

import { describe, expect, it } from 'vitest';
import { NotExecutedError } from '../../src/index.ts';
import { finished } from '../../../testing/src/contract/context.ts';
import { type Delivery, relay, type WorkerEvent } from '../../src/worker/index.ts';
import { ended, kinds, signal } from './bench.ts';

for (const kind of kinds()) {
  describe(`worker: ${kind.name}`, () => {
    const place = kind.use();

    it('delivers what was enqueued, with its headers, and nothing of other topics', async () => {
      const { outbox, worker, store } = await place();
      const all = ended(1);
      const got: unknown[] = [];
      const one = worker({
        onEvent: all.onEvent,
        handlers: {
          mail: ({ payload, headers, topic, group }) => void got.push({ payload, headers, topic, group }),
        },
      });
      await outbox.enqueueAlone({ topic: 'other', payload: 1 });
      await outbox.enqueueAlone({ topic: 'mail', payload: { to: 'Zoë' }, headers: { trace: 't1' } });
      one.start();
      await one.ready();
      await all.promise;
      expect(got).toEqual([{ payload: { to: 'Zoë' }, headers: { trace: 't1' }, topic: 'mail', group: null }]);
      expect(await store.messages.count()).toEqual([{ topic: 'other', state: 'ready', count: 1 }]);
    });

    it('an outcome that stays unknown for longer than the worker allows fails for good', async () => {
      const { worker, store } = await place();
      await finished(store, 'unknown');
      const swept = signal<WorkerEvent>();
      worker({
        unknownMaxMs: 1,
        sweepMs: 20,
        onEvent: (event) => {
          if (event.type === 'swept-record') swept.resolve(event);
        },
      }).start();
      expect(await swept.promise).toMatchObject({ to: 'failed', reason: 'outcome-never-known' });
    });

    it('a failure is tried again under the same downstream key, and is told whether it may have run before', async () => {
      const { outbox, worker } = await place();
      const all = ended(1);
      const seen: { number: number; before: boolean; key: string }[] = [];
      const one = worker({
        onEvent: all.onEvent,
        handlers: {
          mail(_message, { number, mayHaveRunBefore: before, downstreamKey: key }: Delivery) {
            seen.push({ number, before, key });
            if (number === 1) throw new NotExecutedError('no connection');
            if (number === 2) throw new Error('reset by peer');
          },
        },
      });
      await outbox.enqueueAlone({ topic: 'mail' });
      one.start();
      await all.promise;
      const key = seen[0]?.key;
      expect(seen).toEqual([
        { number: 1, before: false, key },
        { number: 2, before: false, key },
        { number: 3, before: true, key },
      ]);
      expect(one.events.filter(({ type }) => type === 'delivery-failed')).toMatchObject([
        { proven: true },
        { proven: false },
      ]);
    });

    it('a message is given up after its bound, kept, and delivered again once requeued', async () => {
      const { outbox, worker } = await place();
      const dead = ended(1);
      let works = false;
      const keys: string[] = [];
      const handlers = {
        mail(_message: unknown, delivery: Delivery) {
          keys.push(delivery.downstreamKey);
          if (!works) throw new Error('no such address');
        },
      };
      const first = worker({ onEvent: dead.onEvent, deliveriesMax: 3, handlers });
      const id = await outbox.enqueueAlone({ topic: 'mail', payload: { to: 'x' } });
      first.start();
      await dead.promise;
      await first.stop();
      expect(keys).toHaveLength(3);
      expect(await outbox.deadLetters()).toMatchObject([
        {
          id,
          started: 3,
          finished: 3,
          proven: 0,
          payload: { to: 'x' },
          lastError: expect.stringMatching(/no such address/),
        },
      ]);
      works = true;
      const again = ended(1);
      const second = worker({ onEvent: again.onEvent, deliveriesMax: 3, handlers });
      second.start();
      expect(await outbox.requeue([id], { reason: 'mended', actor: 'operator-1' })).toEqual([id]);
      await again.promise;
      expect(new Set(keys).size).toBe(1);
      expect(await outbox.deadLetters()).toEqual([]);
    });

    it('a handler may give a message up at once', async () => {
      const { outbox, worker } = await place();
      const dead = ended(1);
      const one = worker({
        onEvent: dead.onEvent,
        handlers: {
          mail(_message, delivery: Delivery) {
            delivery.giveUp();
            throw new Error('unreadable');
          },
        },
      });
      await outbox.enqueueAlone({ topic: 'mail' });
      one.start();
      await dead.promise;
      // Sweeps go on beside it.
      const types = one.events.map(({ type }) => type).filter((type) => type !== 'janitor-run');
      expect(types).toEqual(['dead-letter']);
    });

    it('groups are delivered in order and one at a time by several workers, others beside them', async () => {
      const { outbox, worker } = await place();
      const count = 60;
      const all = ended(count);
      const order: Record<string, number[]> = { a: [], b: [], none: [] };
      const inside = new Set<string>();
      const handlers = {
        async mail({ payload, group }: { payload: number; group: string | null }) {
          if (group !== null) {
            expect(inside.has(group)).toBe(false);
            inside.add(group);
          }
          await new Promise((resolve) => void setImmediate(resolve));
          order[group ?? 'none']?.push(payload);
          if (group !== null) inside.delete(group);
          // Now and then one has to be tried again, and its group waits for it.
          if (payload % 17 === 3 && !order['again']?.includes(payload)) {
            order['again'] = [...(order['again'] ?? []), payload];
            order[group ?? 'none']?.pop();
            throw new Error('again');
          }
        },
      };
      for (let i = 0; i < count; i += 1) {
        const group = [undefined, 'a', 'b'][i % 3];
        await outbox.enqueueAlone({ topic: 'mail', payload: i, ...(group !== undefined && { group }) });
      }
      for (let i = 0; i < 3; i += 1) worker({ onEvent: all.onEvent, concurrency: 4, handlers }).start();
      await all.promise;
      const of = (rest: number): number[] =>
        Array.from({ length: count }, (_, i) => i).filter((i) => i % 3 === rest);
      expect(order['a']).toEqual(of(1));
      expect(order['b']).toEqual(of(2));
      expect(order['none']?.toSorted((x, y) => x - y)).toEqual(of(0));
    });

    it('a delayed message comes when its time has come, and not before', async () => {
      const { outbox, worker } = await place();
      const all = ended(2);
      const times: Record<string, number> = {};
      const one = worker({
        onEvent: all.onEvent,
        handlers: { mail: ({ payload }) => void (times[String(payload)] = performance.now()) },
      });
      one.start();
      await one.ready();
      const from = performance.now();
      await outbox.enqueueAlone({ topic: 'mail', payload: 'late', delayMs: 300 });
      await outbox.enqueueAlone({ topic: 'mail', payload: 'now' });
      await all.promise;
      expect((times['late'] ?? 0) - from).toBeGreaterThanOrEqual(299);
      expect(times['now']).toBeLessThan(times['late'] ?? 0);
    });

    it('a handler that outlives its lease keeps it by renewal, and runs once', async () => {
      const { outbox, worker } = await place();
      const all = ended(1);
      let runs = 0;
      const release = signal();
      const handlers = {
        async mail() {
          runs += 1;
          await release.promise;
        },
      };
      worker({ onEvent: all.onEvent, leaseMs: 300, handlers }).start();
      worker({ onEvent: all.onEvent, leaseMs: 300, handlers }).start();
      await outbox.enqueueAlone({ topic: 'mail' });
      setTimeout(() => release.resolve(), 1_500);
      await all.promise;
      expect(runs).toBe(1);
    });

    it('a handler that hangs loses its signal, then its message, and is counted as not ended', async () => {
      const { outbox, worker } = await place();
      const all = ended(1);
      const numbers: number[] = [];
      const one = worker({
        onEvent: all.onEvent,
        leaseMs: 600,
        deliveryTimeMaxMs: 50,
        deliveriesMax: 2,
        handlers: {
          async mail(_message, { number, signal: stop }: Delivery) {
            numbers.push(number);
            await new Promise((resolve) => stop.addEventListener('abort', resolve));
            await new Promise(() => undefined);
          },
        },
      });
      await outbox.enqueueAlone({ topic: 'mail' });
      one.start();
      await all.promise;
      expect(numbers).toEqual([1, 2]);
      expect(await outbox.deadLetters()).toMatchObject([{ started: 2, finished: 0 }]);
    });

    it('stop waits for running handlers, and what it does not wait for is delivered again', async () => {
      const { outbox, worker, store } = await place();
      const started = [signal(), signal()];
      const release = signal();
      const stubborn = signal();
      let ran = 0;
      const one = worker({
        concurrency: 2,
        handlers: {
          async mail({ payload }, { signal: stop }: Delivery) {
            started[Number(payload)]?.resolve();
            ran += 1;
            if (payload === 0) return release.promise;
            return new Promise((_, reject) => {
              stop.addEventListener('abort', () => {
                stubborn.resolve();
                reject(new Error('stopped'));
              });
            });
          },
        },
      });
      for (const payload of [0, 1, 2]) await outbox.enqueueAlone({ topic: 'mail', payload });
      one.start();
      await Promise.all(started.map(({ promise }) => promise));
      const stopped = one.stop({ drainMs: 300 });
      release.resolve();
      expect(await stopped).toBe(0);
      await stubborn.promise;
      expect(ran).toBe(2);
      // The first is done, the second failed for no fault of its own, the third was never begun.
      const left = await store.messages.list({});
      expect(left.map(({ payload, state, started: n }) => [payload, state, n])).toEqual([
        ['1', 'ready', 1],
        ['2', 'ready', 0],
      ]);
    });

    // F53
    it('a relay records the provider’s id before it is done, and a repeat carries the same key or publishes nothing', async () => {
      const { outbox, worker } = await place();
      const all = ended(2);
      const published: { payload: unknown; key: string }[] = [];
      let failing = true;
      const one = worker({
        onEvent: all.onEvent,
        handlers: {
          orders: relay(async ({ payload }, { downstreamKey }) => {
            published.push({ payload, key: downstreamKey });
            // The provider has it, and the relay fails before it could say so.
            if (payload === 'a' && failing) {
              failing = false;
              throw new Error('connection lost');
            }
            return `prov-${String(payload)}`;
          }),
        },
      });
      await outbox.enqueueAlone({ topic: 'orders', payload: 'a' });
      await outbox.enqueueAlone({ topic: 'orders', payload: 'b' });
      one.start();
      await all.promise;
      const keys = published.filter(({ payload }) => payload === 'a').map(({ key }) => key);
      expect(keys).toHaveLength(2);
      expect(new Set(keys).size).toBe(1);
      expect(published.filter(({ payload }) => payload === 'b')).toHaveLength(1);
      expect(published.find(({ payload }) => payload === 'b')?.key).not.toBe(keys[0]);
    });
  });
}
