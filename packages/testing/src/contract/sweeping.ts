/** What the sweeper tells, outcomes that nobody came to know, and what the reaper takes and tells. */

import assert from 'node:assert/strict';
import { UNKNOWN_MAX_MS } from 'samekey/internals/store/machine/index';
import type { Store, Swept } from 'samekey/internals/store/store';
import {
  type AddTest,
  CLAIM_TTL_MS,
  claimed,
  claimRequest,
  finished,
  finishRequest,
  forgetAsSeen,
  foundBecause,
  only,
  RETENTION_MS,
  recordOf,
  settleRequest,
} from './context.ts';

const DAY_MS = 86_400_000;

/** By the text of the first member. */
const byFirst = (a: unknown, b: unknown): number => (String(a) < String(b) ? -1 : 1);

export function sweepingTests(test: AddTest): void {
  test('the sweeper tells from where, to where, why, and how late it was', async (t) => {
    const plain = await claimed(t.store, { key: 'plain' });
    const resumable = await claimed(t.store, { key: 'resumable', whenClaimEnds: 'resume' });
    const input = new Uint8Array([1]);
    await t.store.claim([claimRequest({ key: 'waiting', entry: 'accept', input })]);
    // Where claims are watched and not compared, the first sweep begins the watch.
    assert.deepEqual(await t.store.sweep(10), []);
    await t.advance(CLAIM_TTL_MS + 70);
    const told = (await t.store.sweep(10)).map(({ key, from, to, reason, ageMs }) => [
      key,
      from,
      to,
      reason,
      ageMs,
    ]);
    assert.deepEqual(told.toSorted(byFirst), [
      [plain.key, 'in_progress', 'unknown', 'claim-ended', 70],
      [resumable.key, 'in_progress', 'retryable', 'claim-ended', 70],
      ['waiting', 'pending', 'failed', 'never-started', 70],
    ]);
  });

  test('an outcome that nobody came to know in time is failed for good, with an answer, and never runs', async (t) => {
    const owner = await finished(t.store, 'unknown');
    await t.advance(UNKNOWN_MAX_MS - 1);
    assert.deepEqual(await t.store.sweep(10), []);
    await t.advance(1);
    const swept = only(await t.store.sweep(10));
    assert.deepEqual(
      [swept.from, swept.to, swept.reason, swept.ageMs],
      ['unknown', 'failed', 'outcome-never-known', UNKNOWN_MAX_MS],
    );
    assert.deepEqual(await t.store.sweep(10), []);
    const { record } = await foundBecause(t.store, 'final');
    assert.equal(record.response?.status, 409);
    assert.match(new TextDecoder().decode(record.response?.body ?? undefined), /"outcome-never-known"/);
    assert.deepEqual(
      [record.reconcileAfter, record.expiresAt],
      [null, (record.finishedAt ?? 0) + RETENTION_MS],
    );
    // Whoever comes late changes nothing, and is told what stands there.
    for (const to of ['completed', 'failed'] as const) {
      assert.deepEqual(only(await t.store.finish([finishRequest(owner, to)])), { kind: 'refused', record });
      assert.deepEqual(only(await t.store.settle([settleRequest(owner, to)])), { kind: 'refused', record });
    }
    assert.deepEqual(await t.store.takeUnknown({ operations: null, leaseMs: 1, limit: 10 }), []);
    await t.advance(RETENTION_MS);
    assert.equal((await t.store.reap(10)).count, 1);
  });

  test('how long an outcome stays unknown is the sweeper’s word, counted from when nobody knew any more', async (t) => {
    const owner = await claimed(t.store, { claimTtlMs: 5 * DAY_MS });
    await t.advance(4 * DAY_MS);
    await t.store.finish([finishRequest(owner, 'unknown')]);
    await t.advance(2 * DAY_MS - 1);
    assert.deepEqual(await t.store.sweep(10, { unknownMaxMs: 2 * DAY_MS }), []);
    await t.advance(1);
    assert.equal((await t.store.sweep(10, { unknownMaxMs: 2 * DAY_MS })).length, 1);
    assert.equal((await recordOf(t.store)).state, 'failed');
  });

  test('however many sweep at once, each record is swept and told once', async (t) => {
    const other = (await t.another?.({ wallOffsetMs: 0 })) ?? t.store;
    for (let i = 0; i < 30; i += 1) await claimed(t.store, { key: `k${i}` });
    await Promise.all([t.store.sweep(100), other.sweep(100)]);
    await t.advance(CLAIM_TTL_MS);
    const swept: Swept[] = [];
    const sweepOnce = async (store: Store): Promise<void> => void swept.push(...(await store.sweep(7)));
    for (let round = 0; round < 12; round += 1) await Promise.all([sweepOnce(t.store), sweepOnce(other)]);
    assert.equal(swept.length, 30);
    assert.equal(new Set(swept.map(({ key }) => key)).size, 30);
  });

  // F47: in-flight and unknown rows stay, whatever their age. F48: what is not reaped yet acts as expired all the same.
  test('the reaper tells how many of which scope it deleted, and touches nothing that is open', async (t) => {
    await claimed(t.store, { key: 'open', scope: 'a|op', claimTtlMs: 10 * RETENTION_MS });
    await finished(t.store, 'unknown', { key: 'unknown', scope: 'a|op' });
    const input = new Uint8Array([1]);
    const pendingTimeMaxMs = 10 * RETENTION_MS;
    await t.store.claim([
      claimRequest({ key: 'w', scope: 'a|op', entry: 'accept', input, pendingTimeMaxMs }),
    ]);
    const intent = await claimed(t.store, { key: 'intent', scope: 'a|op' });
    const steps = '[{"step":1}]';
    const checkpoint = { ...intent, claimTtlMs: CLAIM_TTL_MS, recoveryPoint: null, steps, intentOpen: true };
    await t.store.checkpoint([checkpoint]);
    await t.store.finish([finishRequest(intent, 'retryable')]);
    for (let i = 0; i < 3; i += 1) await finished(t.store, 'completed', { key: `k${i}`, scope: 'a|op' });
    await finished(t.store, 'failed', { key: 'k', scope: 'b|op' });
    assert.deepEqual(await t.store.reap(100), { count: 0, byScope: new Map() });
    await t.advance(RETENTION_MS);
    const reaped = await t.store.reap(100);
    assert.equal(reaped.count, 4);
    assert.deepEqual([...reaped.byScope].toSorted(byFirst), [
      ['a|op', 3],
      ['b|op', 1],
    ]);
    const left = (await t.store.list({})).map(({ key }) => key);
    assert.deepEqual(left.toSorted(byFirst), ['intent', 'open', 'unknown', 'w']);
  });

  test('what was accepted and never begun is failed by its deadline before it can be reaped', async (t) => {
    const input = new Uint8Array([1]);
    await t.store.claim([claimRequest({ entry: 'accept', input, pendingTimeMaxMs: CLAIM_TTL_MS })]);
    await t.advance(RETENTION_MS);
    assert.equal((await t.store.reap(10)).count, 0);
    assert.deepEqual(
      (await t.store.sweep(10)).map(({ to }) => to),
      ['failed'],
    );
    const record = await recordOf(t.store);
    assert.equal(record.response?.status, 408);
    assert.equal((await t.store.reap(10)).count, 0);
    await t.advance(RETENTION_MS);
    assert.equal((await t.store.reap(10)).count, 1);
    assert.deepEqual(only(await forgetAsSeen(t.store, record, { reason: 'gone', actor: null })), {
      kind: 'already',
    });
  });
}
