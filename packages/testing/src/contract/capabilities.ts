/** What a store says of itself is true: each capability is tested where it holds, and its opposite where it does not. */

import assert from 'node:assert/strict';
import type { Store } from 'samekey/internals/store/store';
import {
  type AddTest,
  ANSWER,
  CLAIM_TTL_MS,
  claimed,
  claimRequest,
  finished,
  finishRequest,
  foundBecause,
  ID,
  only,
  recordOf,
  type StoreHarness,
  type StoreUnderTest,
} from './context.ts';

/** As `store/time/clock-pace.ts`. */
const PACE_MS = 600_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export function capabilityTests(test: AddTest, harness: StoreHarness): void {
  test('its capabilities are frozen facts, and the harness offers what they promise', async (t) => {
    const { capabilities } = t.store;
    assert.ok(Object.isFrozen(capabilities));
    assert.ok(t.store.name.length > 0);
    assert.equal('another' in t, capabilities.shared, 'another() goes with shared');
    assert.equal(
      'reopened' in t,
      capabilities.durable && !capabilities.shared,
      'reopened() goes with durable and not shared',
    );
    assert.equal(
      t.transaction !== undefined,
      capabilities.transactions,
      'transaction() goes with transactions',
    );
    assert.equal('within' in t.store, capabilities.transactions, 'within() goes with transactions');
  });

  test('it is ready, more than once', async ({ store }) => {
    await store.ready();
    await store.ready();
  });

  test('two handles on shared data race for each key, and one wins; unshared stores meet nothing of each other', async (t) => {
    const { other, done } = await secondHandle(t, harness);
    const { shared } = t.store.capabilities;
    const requests = Array.from({ length: 100 }, (_, i) => claimRequest({ key: `raced-${i >> 1}` }));
    const results = await Promise.all(
      requests.map(async (request, i) => only(await (i % 2 === 0 ? t.store : other).claim([request]))),
    );
    assert.equal(results.filter(({ kind }) => kind === 'claimed').length, shared ? 50 : 100);
    for (let i = 0; i < 50; i += 1) {
      const id = { ...ID, key: `raced-${i}` };
      if (shared) assert.deepEqual(await other.find([id]), await t.store.find([id]));
    }
    await done();
  });

  test('what was acknowledged outlives the handle, if the store is durable', async (t) => {
    const { durable } = t.store.capabilities;
    await finished(t.store, 'completed');
    const record = await recordOf(t.store);
    await t.store.close();
    if (durable) assert.deepEqual(await (await startedAgain(t)).find([ID]), [record]);
    else assert.ok(!('another' in t), 'a store that outlives its handle is durable');
  });

  // F45: the application's clock is hours off, or was set back; either way round.
  // 30 hours behind is further than the retention: what it writes must still not be over for the others.
  for (const offset of [-30 * HOUR_MS, -10 * HOUR_MS, 10 * HOUR_MS]) {
    test(`a process whose clock is off by ${offset / HOUR_MS} hours steals no claim and meets no record born expired`, async (t) => {
      const { other, done } = await secondHandle(t, harness, offset);
      // A store that shares nothing has one clock, the one it is asked by.
      const { shared } = t.store.capabilities;
      const pairs = shared
        ? ([
            [t.store, other],
            [other, t.store],
          ] as const)
        : ([[t.store, t.store]] as const);
      for (const [mine, theirs] of pairs) {
        const key = mine === other ? 'theirs' : 'ours';
        const owner = await claimed(mine, { key, whenClaimEnds: 'resume', retentionMs: DAY_MS });
        const { claimLeftMs } = await foundBecause(theirs, 'in-progress', { key });
        assert.ok(claimLeftMs > 0 && claimLeftMs <= CLAIM_TTL_MS, 'nobody waits longer than the claim');
        assert.deepEqual(await theirs.sweep(10), []);
        await t.advance(CLAIM_TTL_MS - 1);
        assert.deepEqual(await theirs.sweep(10), []);
        await foundBecause(theirs, 'in-progress', { key });
        const result = only(await mine.finish([finishRequest(owner, 'completed')]));
        assert.ok(result.kind === 'applied');
        assert.deepEqual((await foundBecause(theirs, 'final', { key })).record.response, ANSWER);
        assert.equal((await theirs.reap(10)).count, 0);
        const record = await recordOf(theirs, { ...ID, key });
        assert.ok(record.expiresAt - record.createdAt >= DAY_MS, 'the retention is whole');
      }
      await done();
    });
  }

  test('a handle ends claims by the store’s clock, or, where there is none, only after watching them', async (t) => {
    if (!t.store.capabilities.shared) {
      if (t.store.capabilities.durable) return;
      assert.ok(
        t.store.capabilities.serverClock,
        'nobody else is there to watch, and nothing outlives its process',
      );
      return;
    }
    const watched = await claimed(t.store, { key: 'watched', whenClaimEnds: 'resume' });
    await claimed(t.store, { key: 'swept' });
    await t.advance(CLAIM_TTL_MS);
    const newcomer = await another(t, 0);
    if (t.store.capabilities.serverClock) {
      assert.equal((await claimed(newcomer, { key: 'watched' })).attempt, 2);
      return;
    }
    // It has seen nothing stand still yet, whatever the times in the record say.
    assert.deepEqual(await newcomer.sweep(10), []);
    const { claimLeftMs } = await foundBecause(newcomer, 'in-progress', { key: 'watched' });
    assert.equal(claimLeftMs, CLAIM_TTL_MS);
    await t.advance(CLAIM_TTL_MS - 1);
    // A sign of life starts the watch again.
    await t.store.renew([{ ...watched, claimTtlMs: CLAIM_TTL_MS }]);
    assert.deepEqual(await newcomer.sweep(10), []);
    await t.advance(1);
    assert.deepEqual(
      (await newcomer.sweep(10)).map(({ key }) => key),
      ['swept'],
    );
    await t.advance(CLAIM_TTL_MS - 1);
    assert.equal((await claimed(newcomer, { key: 'watched' })).attempt, 2);
  });

  test('a process that was started again ends claims by the store’s clock, or, where there is none, only after watching them', async (t) => {
    const { durable, shared, serverClock } = t.store.capabilities;
    // Where nothing is kept, nothing is left to end; where others may hold a handle, the test before this one shows it.
    if (!durable || shared) return;
    await claimed(t.store, { key: 'left', whenClaimEnds: 'resume' });
    await t.advance(CLAIM_TTL_MS);
    await t.store.close();
    const restarted = await startedAgain(t);
    if (!serverClock) {
      // How long it was away is told by a wall clock alone.
      assert.deepEqual(await restarted.sweep(10), []);
      const { claimLeftMs } = await foundBecause(restarted, 'in-progress', { key: 'left' });
      assert.equal(claimLeftMs, CLAIM_TTL_MS);
      await t.advance(CLAIM_TTL_MS - 1);
      await foundBecause(restarted, 'in-progress', { key: 'left' });
      await t.advance(1);
    }
    assert.equal((await claimed(restarted, { key: 'left' })).attempt, 2);
  });

  // F45, F71
  test('a process whose clock is an hour ahead, and believed by now, takes no living claim', async (t) => {
    if (!t.store.capabilities.shared || t.store.capabilities.serverClock) return;
    await finished(t.store, 'completed', { key: 'before', retentionMs: DAY_MS });
    const ahead = await another(t, HOUR_MS);
    // It is believed once it has kept pace for ten minutes. It has written nothing yet, so nobody else knows.
    for (const passedMs of [0, PACE_MS]) {
      await t.advance(passedMs);
      await foundBecause(ahead, 'final', { key: 'before' });
    }
    await claimed(t.store, { key: 'living', whenClaimEnds: 'resume' });
    const { claimLeftMs } = await foundBecause(ahead, 'in-progress', { key: 'living' });
    assert.equal(claimLeftMs, CLAIM_TTL_MS);
    assert.deepEqual(
      (await ahead.sweep(10)).filter(({ key }) => key === 'living'),
      [],
    );
  });

  test('a claim that followed another one unseen is watched from its own beginning', async (t) => {
    if (!t.store.capabilities.shared || t.store.capabilities.serverClock) return;
    const newcomer = await another(t, 0);
    const first = await claimed(t.store);
    assert.deepEqual(await newcomer.sweep(10), []);
    await t.advance(CLAIM_TTL_MS - 1);
    await t.store.finish([finishRequest(first, 'retryable')]);
    await claimed(t.store);
    await t.advance(1);
    assert.deepEqual(await newcomer.sweep(10), []);
    await foundBecause(newcomer, 'in-progress');
  });
}

/** Another handle on the data; for a store that shares nothing, a store of its own. */
async function secondHandle(
  t: StoreUnderTest,
  harness: StoreHarness,
  wallOffsetMs = 0,
): Promise<{ other: Store; done: () => Promise<void> }> {
  if (t.store.capabilities.shared)
    return { other: await another(t, wallOffsetMs), done: async () => undefined };
  const alone = await harness.create();
  return { other: alone.store, done: () => alone.close() };
}

async function another(t: StoreUnderTest, wallOffsetMs: number): Promise<Store> {
  assert.ok(t.another !== undefined, 'a shared store needs another() in its harness');
  return t.another({ wallOffsetMs });
}

/** What a process finds that was started again. */
async function startedAgain(t: StoreUnderTest): Promise<Store> {
  if (t.store.capabilities.shared) return another(t, 0);
  assert.ok(t.reopened !== undefined, 'a durable store of one process needs reopened() in its harness');
  return t.reopened();
}
