/**
 * A clock that runs ahead of what other processes have seen ends and forgets nothing (F71, F117): a process whose clock is a day ahead opens the
 * store, uses it and leaves. Where the database tells the time it is the server's clock that is ahead, as long as that process uses it.
 */

import assert from 'node:assert/strict';
import { REOPEN_DELAY_MS, REPLAY_TRUST_MAX_MS } from 'samekey/internals/core/record';
import type { Store } from 'samekey/internals/store/store';
import {
  type AddTest,
  claimed,
  claimRequest,
  finished,
  finishRequest,
  foundBecause,
  handRequest,
  ID,
  only,
  recordOf,
  type StoreUnderTest,
} from './context.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const AHEAD_MS = 25 * HOUR_MS;
/** As `PACE_MS`: for so long a clock that is ahead must keep pace. */
const TEN_MINUTES_MS = 10 * MINUTE_MS;
const LIFE = { retentionMs: DAY_MS, replayMinMs: DAY_MS };

export function clockTests(test: AddTest): void {
  // F71
  test('a process whose clock is 25 hours ahead opens it, uses every verb and leaves: nobody’s key runs again', async (t) => {
    const newcomers = await processes(t);
    const states = ['completed', 'failed', 'retryable'] as const;
    for (const to of states) await finished(t.store, to, { ...LIFE, key: to });
    await claimed(t.store, { ...LIFE, key: 'running' });
    await t.store.claim([
      claimRequest({ ...LIFE, key: 'accepted', entry: 'accept', input: BYTES, pendingTimeMaxMs: HOUR_MS }),
    ]);
    const unknown = await finished(t.store, 'unknown', { ...LIFE, key: 'unknown' });
    await t.store.note([auditRow()]);
    const before = await recordsOf(t.store, [...states, 'running', 'accepted', 'unknown']);

    const ahead = await newcomers(AHEAD_MS);
    for (const key of ['completed', 'failed']) await foundBecause(ahead, 'final', { ...LIFE, key });
    await foundBecause(ahead, 'in-progress', { ...LIFE, key: 'running' });
    await foundBecause(ahead, 'pending', { ...LIFE, key: 'accepted', entry: 'accept', input: BYTES });
    await finished(ahead, 'completed', { ...LIFE, key: 'of its own' });
    assert.deepEqual(await ahead.sweep(10, { unknownMaxMs: HOUR_MS }), []);
    assert.equal((await ahead.reap(10)).count, 0);
    assert.deepEqual(await ahead.takeUnknown({ limit: 10, leaseMs: 1_000, operations: null }), []);
    assert.equal(await ahead.pruneAudit({ olderThanMs: HOUR_MS, acts: ['contradiction'], limit: 10 }), 0);
    const settled = only(await ahead.settle([{ ...asSettled(unknown), claimEndedForMs: HOUR_MS }]));
    assert.equal(settled.kind, 'refused', 'its claim has not been over for an hour');
    await ahead.close();

    for (const store of [t.store, await newcomers(0)]) {
      await t.advance(MINUTE_MS);
      assert.equal((await store.reap(10)).count, 0);
      for (const key of ['completed', 'failed', 'of its own'])
        await foundBecause(store, 'final', { ...LIFE, key });
    }
    const after = await recordsOf(t.store, [...states, 'running', 'accepted', 'unknown']);
    assert.deepEqual(
      after.filter((_record, i) => i !== 3),
      before.filter((_record, i) => i !== 3),
    );
  });

  // F71: what such a process writes is not beyond everybody's reach either.
  test('leases, deadlines and delays that a process 25 hours ahead writes are over when they should be', async (t) => {
    const newcomers = await processes(t);
    const ahead = await newcomers(AHEAD_MS);
    const entry = { entry: 'accept', input: BYTES, pendingTimeMaxMs: MINUTE_MS } as const;
    await ahead.claim([claimRequest({ ...LIFE, ...entry, key: 'accepted' })]);
    const owner = await claimed(ahead, { ...LIFE, key: 'unknown' });
    await ahead.finish([finishRequest(owner, 'unknown', { reconcileAfterMs: MINUTE_MS })]);
    const failed = await finished(ahead, 'failed', { ...LIFE, key: 'reopened' });
    await ahead.reopen([{ ...handRequest(failed), effect: 'none' }]);

    const request = { limit: 10, leaseMs: MINUTE_MS, operations: null };
    assert.deepEqual(await t.store.takeUnknown(request), []);
    await foundBecause(t.store, 'in-progress', { ...LIFE, key: 'reopened' });
    await t.advance(MINUTE_MS);
    assert.deepEqual(
      (await t.store.sweep(10)).map(({ key, to }) => [key, to]),
      [['accepted', 'failed']],
    );
    assert.deepEqual(
      (await t.store.takeUnknown(request)).map(({ key }) => key),
      ['unknown'],
    );
    await claimed(t.store, { ...LIFE, key: 'reopened' });
  });

  // F71: a record lives as long as it was promised, by whichever clock that is longer.
  test('a life is counted from the later clock: nobody finds a record born expired, nor one that ends too early', async (t) => {
    const newcomers = await processes(t);
    await finished(t.store, 'completed', { ...LIFE, key: 'before' });
    const owners = [await newcomers(AHEAD_MS), await newcomers(-AHEAD_MS), t.store];
    for (const [i, store] of owners.entries()) {
      await finished(store, 'completed', { ...LIFE, key: `of-${i}` });
      for (const other of owners) await foundBecause(other, 'final', { ...LIFE, key: `of-${i}` });
      const { createdAt, expiresAt } = await recordOf(t.store, { ...ID, key: `of-${i}` });
      assert.ok(expiresAt - createdAt >= DAY_MS);
    }
    await t.advance(DAY_MS - MINUTE_MS);
    for (const [i] of owners.entries()) await foundBecause(t.store, 'final', { ...LIFE, key: `of-${i}` });
    assert.equal((await t.store.reap(10)).count, 0);
  });

  // F71
  test('after days of silence records live ten minutes longer, where no clock is believed at once, and never shorter', async (t) => {
    const newcomers = await processes(t);
    await finished(t.store, 'completed', { ...LIFE, key: 'old' });
    await t.advance(3 * DAY_MS);
    const store = await newcomers(0);
    if (!holdsBack(t.store)) {
      assert.equal((await store.reap(10)).count, 1);
      return;
    }
    // It cannot tell silence from a clock that is wrong.
    assert.equal((await store.reap(10)).count, 0);
    await foundBecause(store, 'final', { ...LIFE, key: 'old' });
    await finished(store, 'completed', { ...LIFE, key: 'new' });
    await t.advance(TEN_MINUTES_MS - 1);
    assert.equal((await store.reap(10)).count, 0);
    await t.advance(1);
    assert.equal((await store.reap(10)).count, 1);
    assert.deepEqual(await store.find([{ ...ID, key: 'old' }]), [null]);
    await t.advance(DAY_MS - TEN_MINUTES_MS - 1);
    await foundBecause(store, 'final', { ...LIFE, key: 'new' });
    await t.advance(1);
    assert.equal((await store.reap(10)).count, 1);
  });

  // F62, F71: whoever begins after a silence takes the last word of the others for the time.
  test('a key that was reopened or forgotten by a process whose time lags is held back as long by all others', async (t) => {
    const newcomers = await processes(t);
    const reopened = await finished(t.store, 'failed', { ...LIFE, key: 'reopened' });
    const forgotten = await finished(t.store, 'completed', { ...LIFE, key: 'forgotten' });
    await t.advance(MINUTE_MS);
    const operator = await newcomers(0);
    await operator.reopen([{ ...handRequest(reopened), effect: 'none' }]);
    await operator.forget([{ ...handRequest(forgotten), state: 'completed', effect: 'none' }]);
    for (const waitMs of [0, REPLAY_TRUST_MAX_MS]) {
      await t.advance(waitMs);
      assert.equal((await t.store.reap(10)).count, 0);
      for (const key of ['reopened', 'forgotten'])
        await foundBecause(t.store, 'in-progress', { ...LIFE, key });
    }
    await t.advance(REOPEN_DELAY_MS - REPLAY_TRUST_MAX_MS);
    for (const key of ['reopened', 'forgotten']) await claimed(t.store, { ...LIFE, key });
  });

  // F71
  test('nobody keeps an answer in memory for longer than its record lives by another clock', async (t) => {
    const newcomers = await processes(t);
    await finished(t.store, 'completed', { ...LIFE, retentionMs: MINUTE_MS, replayMinMs: 0 });
    await t.advance(MINUTE_MS - 1_000);
    const store = await newcomers(0);
    const claim = claimRequest({ ...LIFE });
    const found = only(await store.claim([{ ...claim, claimId: 'early' }]));
    assert.ok(found.kind === 'found' && found.because === 'final' && found.lifeLeftMs <= 1_000);
    await t.advance(1_000);
    const late = only(await store.claim([{ ...claim, claimId: 'late' }]));
    assert.ok(late.kind === 'claimed' || (late.kind === 'found' && late.lifeLeftMs === 0));
  });

  test('a clock that is far off is told, ahead or behind, and one that is not is not', async (t) => {
    if (!holdsBack(t.store) || t.another === undefined) return;
    await finished(t.store, 'completed', LIFE);
    for (const wallOffsetMs of [AHEAD_MS, 0, -AHEAD_MS]) {
      const store = await t.another({ wallOffsetMs });
      const told: number[] = [];
      const end = store.onClockOff?.((offMs) => told.push(offMs));
      for (let looks = 0; looks < 3; looks += 1) await foundBecause(store, 'final', LIFE);
      assert.deepEqual(told, wallOffsetMs === 0 ? [] : [wallOffsetMs]);
      end?.();
    }
  });
}

/** Whether a clock that is ahead is believed only after it has kept pace. Stores that believe their server at once have nothing to tell. */
function holdsBack(store: Store): boolean {
  return store.capabilities.shared && store.onClockOff !== undefined;
}

/** Makes further processes; where nothing is shared, the one that there is has the only clock. */
async function processes(t: StoreUnderTest): Promise<(wallOffsetMs: number) => Promise<Store>> {
  return async (wallOffsetMs) =>
    t.another === undefined ? { ...t.store, close: noClose } : t.another({ wallOffsetMs });
}

async function noClose(): Promise<void> {}

const BYTES = new Uint8Array([1]);

async function recordsOf(store: Store, keys: readonly string[]) {
  return store.find(keys.map((key) => ({ ...ID, key })));
}

function asSettled(owner: Awaited<ReturnType<typeof finished>>) {
  return { ...owner, to: 'retryable', reason: 'asked', actor: 'reconciler-1', response: null } as const;
}

function auditRow() {
  const row = { ...ID, operation: null, attempt: 1, act: 'contradiction', from: null, to: null } as const;
  return { ...row, reason: null, actor: null };
}
