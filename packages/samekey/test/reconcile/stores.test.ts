/** The reconciler on stores that have something of their own: a clock that may be set, and records that are sealed. */

import { afterEach, describe, expect, it } from 'vitest';
import { createSamekey } from '../../src/index.ts';
import { createReconciler, type Inquiry, type Verdict } from '../../src/reconcile/index.ts';
import { keyRing, sealed } from '../../src/seal/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { readSteps } from '../../src/ways/steps.ts';
import { fakeWorld } from '../../../testing/src/index.ts';
import { availableClients, temporaryFile } from '../stores/sqlite-clients.ts';
import { KEYS, RING } from '../seal/rings.ts';

const cleanups: (() => unknown)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).toReversed()) cleanup();
});

const FAILING = { operation: 'pay', scope: ['t'], key: 'k', fingerprint: null };
const fails = (): never => {
  throw new Error('the line broke');
};

describe.each(availableClients())('a reconciler on sqlite with $name', ({ open }) => {
  // F45: the machine's clock is set forward by an hour.
  it('believes "no effect" only when it has watched the outcome for as long as a call takes', async () => {
    const file = temporaryFile();
    const database = open(file.path);
    cleanups.push(
      () => file.remove(),
      () => database.close(),
    );
    const world = fakeWorld();
    let aheadMs = 0;
    const store = sqliteStore({
      service: 'test',
      database,
      now: () => world.wallNow() + aheadMs,
      monotonicNow: () => world.monotonicNow(),
    });
    await store.migrate();
    const samekey = createSamekey({ store, policy: 'payments', reconcileAfterMs: 0 });
    await samekey.run(FAILING, fails).catch(() => undefined);
    const reconciler = createReconciler({
      store,
      world,
      operations: { pay: { inquire: async () => ({ kind: 'no-effect' }), callTimeMaxMs: 10_000 } },
    });
    aheadMs = 3_600_000;
    expect(await reconciler.run()).toMatchObject({ scheduled: 1 });
    expect(
      await reconciler.tell({
        by: { scope: 't|pay', key: 'k' },
        verdict: { kind: 'no-effect' },
        source: 'webhook',
      }),
    ).toEqual({ kind: 'too-early', because: 'call-time', afterMs: 10_000 });
    await world.advance(9_999);
    expect(await reconciler.run()).toMatchObject({ taken: 0 });
    await world.advance(1);
    expect(await reconciler.run()).toMatchObject({ resolved: 1 });
  });
});

describe('a reconciler on a sealed store', () => {
  it('is told the open effect, and seals the result that it puts in', async () => {
    const { clear, store, order, asked, operations } = await opened({
      kind: 'took-effect',
      result: 'ch_secret',
    });
    expect(await createReconciler({ store, operations }).run()).toMatchObject({ resolved: 1 });
    expect(asked[0]?.effect).toMatchObject({ name: 'charge', attempt: 1 });
    const [there] = await clear.list({});
    expect(there?.steps).not.toContain('ch_secret');
    expect(readSteps((await store.list({}))[0]?.steps ?? null)).toMatchObject([
      { done: { result: 'ch_secret' } },
    ]);
    expect(await order.run({ scope: ['t'], key: 'k', input: null })).toMatchObject({ value: 'ch_secret' });
  });

  it('asks nothing about a record that it cannot open, and puts it off', async () => {
    const { clear, asked, operations } = await opened({ kind: 'no-effect' });
    const store = sealed(clear, keyRing({ current: 'k1', keys: { k1: KEYS.k1 } }));
    const reconciler = createReconciler({ store, operations });
    expect(await reconciler.run()).toMatchObject({ taken: 1, resolved: 0, scheduled: 1 });
    const by = { scope: 't|order', key: 'k' };
    expect(await reconciler.tell({ by, verdict: { kind: 'no-effect' }, source: 'webhook' })).toEqual({
      kind: 'not-yet',
      state: 'unknown',
    });
    expect(asked).toEqual([]);
    expect((await clear.list({}))[0]).toMatchObject({ state: 'unknown', inquiries: 1 });
  });
});

/** A phased operation on a sealed store, its effect open. */
async function opened(result: Verdict) {
  const clear = memoryStore();
  const store = sealed(clear, RING);
  const asked: Inquiry[] = [];
  const samekey = createSamekey({ store, policy: 'payments', reconcileAfterMs: 0 });
  const order = samekey.phased({
    name: 'order',
    run: async (_input: null, attempt) =>
      attempt.effect<string>('charge', fails, { rule: 'reconcile', callTimeMaxMs: 100 }),
  });
  await order.run({ scope: ['t'], key: 'k', input: null });
  const inquire = async (_record: unknown, inquiry: Inquiry): Promise<Verdict> => {
    asked.push(inquiry);
    return result;
  };
  return { clear, store, order, asked, operations: { order: { inquire } } };
}
