/** The reconciler as a service: bounds, stopping, names, options. In virtual time. */

import { describe, expect, it } from 'vitest';
import { createSamekey, reply, StoreError } from '../../src/index.ts';
import { createReconciler, type ReconcilerOptions } from '../../src/reconcile/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { fakeWorld } from '../../../testing/src/index.ts';
import { createBench, LEASE_MS } from './bench.ts';

const PAID = {
  kind: 'completed',
  answer: reply(201, { id: 'ch_1' }),
  reason: 'found at the provider',
} as const;
describe('a reconciler', () => {
  it('asks about many at once, within its bounds, and about operations it knows only', async () => {
    const bench = createBench();
    for (let i = 0; i < 30; i += 1) await bench.thrown(`k-${i}`);
    await bench.open('other');
    let now = 0;
    let most = 0;
    const inquire = async () => {
      now += 1;
      most = Math.max(most, now);
      await new Promise<void>((resolve) => void bench.world.setTimer(100, resolve));
      now -= 1;
      return PAID;
    };
    const reconciler = bench.reconciler({ operations: { pay: { inquire } }, concurrency: 4 });
    const some = reconciler.run({ limit: 10 });
    await bench.world.advance(10_000);
    expect(await some).toMatchObject({ taken: 10, resolved: 10 });
    const rest = reconciler.run();
    await bench.world.advance(10_000);
    expect(await rest).toMatchObject({ taken: 20, resolved: 20 });
    expect(most).toBe(4);
    expect(await bench.record('other')).toMatchObject({ state: 'unknown', inquiries: 0 });
  });

  it('goes on by itself until it is stopped, also when the store is away for a while', async () => {
    const bench = createBench();
    let away = true;
    const store: ReconcilerOptions['store'] = {
      ...bench.store,
      takeUnknown: async (request) => {
        if (away) throw new StoreError('The store is away.', { applied: 'no' });
        return bench.store.takeUnknown(request);
      },
    };
    bench.answers.push(PAID);
    const reconciler = bench.reconciler({ store, pollMs: 1_000 });
    reconciler.start();
    expect(() => reconciler.start()).toThrow(/started before/);
    await bench.thrown('a');
    await bench.world.advance(5_000);
    away = false;
    await bench.world.advance(5_000);
    await bench.thrown('b');
    await bench.world.advance(5_000);
    expect(bench.asked.map(({ key }) => key)).toEqual(['a', 'b']);
    const stopped = reconciler.stop();
    await bench.world.advance(1);
    expect(await stopped).toBe(0);
    await bench.thrown('c');
    await bench.world.advance(60_000);
    expect(bench.asked).toHaveLength(2);
    await expect(reconciler.run()).rejects.toThrow(/was stopped/);
  });

  it('aborts questions that do not end when it is stopped, and leaves what they were about to others', async () => {
    const bench = createBench();
    await bench.thrown();
    let aborted = false;
    bench.answers.push(
      (_record, { signal }) =>
        new Promise(() => signal.addEventListener('abort', () => void (aborted = true))),
      PAID,
    );
    const reconciler = bench.reconciler();
    reconciler.start();
    await bench.world.advance(1);
    const stopped = reconciler.stop({ drainMs: 2_000 });
    await bench.world.advance(5_000);
    expect([await stopped, aborted, bench.types()]).toEqual([1, true, []]);
    await bench.world.advance(LEASE_MS);
    expect(await bench.reconciler().run()).toMatchObject({ resolved: 1 });
  });

  it('knows the former names of an instance’s operations', async () => {
    const world = fakeWorld({ seed: 3 });
    const store = memoryStore();
    const failing = { run: () => Promise.reject(new Error('the line broke')) };
    const before = createSamekey({ store, policy: 'payments', reconcileAfterMs: 0 });
    const old = before.plain<null, never>({ name: 'pay', ...failing });
    await old.run({ scope: ['t'], key: 'k', input: null }).catch(() => undefined);
    const samekey = createSamekey({ store, policy: 'payments', world });
    samekey.plain<null, never>({ name: 'charge', formerly: ['pay'], ...failing });
    const reconciler = createReconciler({ samekey, operations: { charge: { inquire: async () => PAID } } });
    expect(await reconciler.run()).toMatchObject({ resolved: 1 });
  });

  it.each<[string, object, RegExp]>([
    ['no operations', { operations: {} }, /needs operations/],
    ['no function', { operations: { pay: { inquire: 1 } } }, /operations.pay.inquire is a function/],
    ['a lease that a question outlives', { inquiryTimeMaxMs: 60_000, leaseMs: 60_000 }, /leaseMs/],
    ['an option nobody reads', { interval: 1 }, /no option "interval"/],
    [
      'an operation’s option nobody reads',
      { operations: { pay: { enquire: 1 } } },
      /no option "operations.pay.enquire". Did you mean "operations.pay.inquire"/,
    ],
    ['neither store nor samekey', { store: undefined }, /exactly one/],
  ])('refuses %s', (_what, wrong, message) => {
    const right = { store: memoryStore(), operations: { pay: { inquire: async () => PAID } } };
    expect(() => createReconciler({ ...right, ...wrong })).toThrow(message);
  });
});
