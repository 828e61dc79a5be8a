/** Unknown outcomes on their way to being settled: who asks about them, when, how often, and who gives up. */

import assert from 'node:assert/strict';
import { NEVER } from 'samekey/internals/store/machine/index';
import type { SamekeyRecord } from 'samekey/internals/core/record';
import type { PostponeRequest, Store, TakeUnknownRequest } from 'samekey/internals/store/store';
import {
  type AddTest,
  CLAIM_TTL_MS,
  claimed,
  fencedId,
  finished,
  finishRequest,
  ID,
  only,
  recordOf,
  renewRequest,
  settleRequest,
  type StoreUnderTest,
} from './context.ts';

const LEASE_MS = 20_000;
/** As `finishRequest` has it. */
const FIRST_LOOK_MS = 5_000;
const HOUR_MS = 3_600_000;

export function unknownTests(test: AddTest): void {
  test('an unknown outcome is taken once it is due, and not again before the lease is over', async (t) => {
    await finished(t.store, 'unknown');
    for (const to of ['completed', 'failed', 'retryable'] as const) await finished(t.store, to, { key: to });
    await claimed(t.store, { key: 'open' });
    await t.advance(FIRST_LOOK_MS - 1);
    assert.deepEqual(await take(t.store), []);
    await t.advance(1);
    const before = await recordOf(t.store);
    const taken = only(await take(t.store));
    assert.deepEqual(taken, {
      ...before,
      inquiries: 1,
      reconcileAfter: before.createdAt + FIRST_LOOK_MS + LEASE_MS,
    });
    assert.deepEqual(await recordOf(t.store), taken);
    await t.advance(LEASE_MS - 1);
    assert.deepEqual(await take(t.store), []);
    await t.advance(1);
    assert.equal(only(await take(t.store)).inquiries, 2);
  });

  test('the longest due are taken first, at most as many as asked for, of the named operations', async (t) => {
    for (const [key, operation] of [
      ['a', 'POST /a'],
      ['b', 'POST /b'],
      ['c', 'POST /a'],
    ] as const) {
      await finished(t.store, 'unknown', { key, operation });
      await t.advance(10);
    }
    await t.advance(FIRST_LOOK_MS);
    assert.deepEqual(keys(await take(t.store, { operations: ['POST /other'] })), []);
    assert.deepEqual(keys(await take(t.store, { operations: [] })), []);
    assert.deepEqual(keys(await take(t.store, { limit: 0 })), []);
    assert.deepEqual(keys(await take(t.store, { operations: ['POST /a'], limit: 1 })), ['a']);
    assert.deepEqual(keys(await take(t.store)), ['b', 'c']);
  });

  test('two that take at once never get the same one, and get all', async (t) => {
    const other = await another(t);
    for (let i = 0; i < 40; i += 1) await finished(t.store, 'unknown', { key: `k${i}` });
    await t.advance(FIRST_LOOK_MS);
    const taken: SamekeyRecord[] = [];
    for (let round = 0; round < 40 && taken.length < 40; round += 1) {
      const both = await Promise.all([take(t.store, { limit: 7 }), take(other, { limit: 7 })]);
      taken.push(...both.flat());
    }
    assert.equal(taken.length, 40);
    assert.equal(new Set(keys(taken)).size, 40);
    for (const record of taken) assert.equal(record.inquiries, 1);
  });

  // F45: where there is no server's clock, the file's time follows the wall clock that is furthest ahead.
  test('a lease is not over for a process whose clock is hours ahead or behind', async (t) => {
    if (!t.store.capabilities.shared || t.another === undefined) return;
    for (const hours of [10, -10]) {
      const key = `off-by-${hours}`;
      const other = await t.another({ wallOffsetMs: hours * HOUR_MS });
      await finished(t.store, 'unknown', { key });
      await t.advance(FIRST_LOOK_MS);
      assert.deepEqual(keys(await take(t.store)), [key]);
      assert.deepEqual(keys(await take(other)), []);
      await t.advance(LEASE_MS - 1);
      assert.deepEqual(keys(await take(other)), []);
      await t.store.settle([settleRequest(await recordOf(t.store, { ...ID, key }), 'completed')]);
    }
  });

  test('a postponed look is due after the pause, and the count of inquiries is its fence', async (t) => {
    await finished(t.store, 'unknown');
    await t.advance(FIRST_LOOK_MS);
    const first = only(await take(t.store));
    assert.equal(await postpone(t.store, first, { inquiries: 0 }), 'refused');
    assert.equal(await postpone(t.store, first, { afterMs: HOUR_MS }), 'applied');
    assert.equal((await recordOf(t.store)).reason, first.reason);
    await t.advance(HOUR_MS - 1);
    assert.deepEqual(await take(t.store), []);
    await t.advance(1);
    const second = only(await take(t.store));
    assert.equal(second.inquiries, 2);
    assert.equal(await postpone(t.store, first), 'refused');
    assert.deepEqual(await recordOf(t.store), second);
    assert.equal(await postpone(t.store, second, { afterMs: 0 }), 'applied');
    assert.equal(only(await take(t.store)).inquiries, 3);
  });

  test('what is given up is never due again, is still unknown, and can still be settled', async (t) => {
    await finished(t.store, 'unknown');
    await t.advance(FIRST_LOOK_MS);
    const taken = only(await take(t.store));
    assert.equal(await postpone(t.store, taken, { afterMs: null, reason: 'nobody knows' }), 'applied');
    assert.equal(await postpone(t.store, taken, { afterMs: null, reason: 'nobody knows' }), 'already');
    const [row, ...more] = await t.store.audit({ acts: ['give-up'] });
    assert.deepEqual(
      [row?.key, row?.from, row?.to, row?.reason],
      [ID.key, 'unknown', 'unknown', 'nobody knows'],
    );
    assert.deepEqual(more, []);
    await t.advance(1_000 * HOUR_MS);
    assert.deepEqual(await take(t.store), []);
    const left = await recordOf(t.store);
    assert.deepEqual([left.state, left.reconcileAfter], ['unknown', NEVER]);
    assert.deepEqual(await t.store.list({ states: ['unknown'] }), [left]);
    assert.equal(only(await t.store.settle([settleRequest(left, 'completed')])).kind, 'applied');
    const settled = await recordOf(t.store);
    assert.deepEqual([settled.inquiries, settled.reconcileAfter], [1, null]);
    assert.equal(await postpone(t.store, taken), 'refused');
  });

  test('the count begins anew with a word of the owner, and with the next attempt', async (t) => {
    const owner = await claimed(t.store);
    await giveUp(t);
    assert.equal(only(await take(t.store)).inquiries, 1);
    // Its owner is alive: it takes the record back, whatever a reconciler has noted.
    assert.equal(await postpone(t.store, await recordOf(t.store), { afterMs: HOUR_MS }), 'applied');
    assert.equal(only(await t.store.renew([renewRequest(owner)])).kind, 'renewed');
    assert.equal((await recordOf(t.store)).inquiries, 0);
    assert.equal(await postpone(t.store, { ...owner, inquiries: 0 }), 'refused');

    await giveUp(t);
    assert.equal(only(await take(t.store)).inquiries, 1);
    await t.store.finish([finishRequest(owner, 'unknown')]);
    assert.equal((await recordOf(t.store)).inquiries, 0);
    await t.advance(FIRST_LOOK_MS);
    assert.equal(only(await take(t.store)).inquiries, 1);
    await t.store.settle([settleRequest(owner, 'retryable')]);
    assert.equal((await recordOf(t.store)).inquiries, 1);
    await claimed(t.store);
    assert.equal((await recordOf(t.store)).inquiries, 0);
  });

  // F3, F19: since when nobody knows; what a reconciler may conclude depends on it.
  test('an unknown outcome tells since when it is one', async (t) => {
    await claimed(t.store, { key: 'ended' });
    const told = await claimed(t.store, { key: 'told' });
    const { createdAt } = await recordOf(t.store, told);
    await t.advance(10);
    await t.store.finish([finishRequest(told, 'unknown')]);
    await t.advance(CLAIM_TTL_MS);
    await giveUp(t);
    assert.equal((await recordOf(t.store, told)).lockedUntil, createdAt + 10);
    const ended = await recordOf(t.store, { ...ID, key: 'ended' });
    assert.equal(ended.state, 'unknown');
    assert.equal(ended.lockedUntil, createdAt + CLAIM_TTL_MS);
  });
}

/** Lets the claims end, also where they are watched: there the first sweep begins the watch. */
async function giveUp(t: StoreUnderTest): Promise<void> {
  await t.store.sweep(10);
  await t.advance(CLAIM_TTL_MS);
  await t.store.sweep(10);
}

/** Another process, where there can be one. */
async function another(t: StoreUnderTest): Promise<Store> {
  return (await t.another?.({ wallOffsetMs: 0 })) ?? t.store;
}

async function take(
  store: Store,
  request: Partial<TakeUnknownRequest> = {},
): Promise<readonly SamekeyRecord[]> {
  return store.takeUnknown({ operations: null, leaseMs: LEASE_MS, limit: 100, ...request });
}

async function postpone(
  store: Store,
  record: Omit<PostponeRequest, 'afterMs' | 'reason'>,
  overrides: Partial<PostponeRequest> = {},
): Promise<string> {
  const { inquiries } = record;
  const request = { ...fencedId(record), inquiries, afterMs: 1_000, reason: null, ...overrides };
  return only(await store.postpone([request])).kind;
}

function keys(records: readonly SamekeyRecord[]): string[] {
  return records.map(({ key }) => key);
}
