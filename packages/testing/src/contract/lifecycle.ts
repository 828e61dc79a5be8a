/** Expiry, tombstones, the sweeper, the reaper, and the operator's reads. */

import assert from 'node:assert/strict';
import { REOPEN_DELAY_MS, STATES } from 'samekey/internals/core/record';
import { encodeScope } from 'samekey/internals/core/scope';
import {
  type AddTest,
  CLAIM_TTL_MS,
  claimed,
  fencedId,
  finished,
  finishRequest,
  forgetAsSeen,
  foundBecause,
  handRequest,
  ID,
  only,
  RETENTION_MS,
  recordOf,
  renewRequest,
  settleRequest,
} from './context.ts';

export function lifecycleTests(test: AddTest): void {
  // F48: the reaper has not come yet.
  test('an expired record acts as absent although it is still there', async (t) => {
    for (const to of ['completed', 'failed', 'retryable'] as const) await finished(t.store, to, { key: to });
    await t.advance(RETENTION_MS - 1);
    await foundBecause(t.store, 'final', { key: 'completed' });
    await t.advance(1);
    for (const key of ['completed', 'failed', 'retryable']) {
      const before = await recordOf(t.store, { ...ID, key });
      assert.equal((await claimed(t.store, { key })).attempt, 1);
      const after = await recordOf(t.store, { ...ID, key });
      assert.equal(after.createdAt, before.createdAt + RETENTION_MS);
      assert.equal(after.expiresAt, after.createdAt + RETENTION_MS);
      assert.equal(after.response, null);
    }
  });

  test('a tombstone answers "expired" until its time is over too', async (t) => {
    await finished(t.store, 'completed', { tombstoneMs: 500 });
    await t.advance(RETENTION_MS);
    await foundBecause(t.store, 'expired');
    await t.advance(499);
    await foundBecause(t.store, 'expired');
    assert.equal((await t.store.reap(10)).count, 0);
    await t.advance(1);
    assert.equal((await t.store.reap(10)).count, 1);
    assert.equal((await claimed(t.store)).attempt, 1);
  });

  // F47: whatever its age.
  test('an open claim and an unknown outcome neither expire nor are reaped', async (t) => {
    await finished(t.store, 'unknown', { key: 'unknown' });
    const owner = await claimed(t.store, { key: 'open' });
    await t.advance(RETENTION_MS * 10);
    assert.equal(only(await t.store.renew([renewRequest(owner)])).kind, 'renewed');
    assert.equal((await t.store.reap(10)).count, 0);
    await foundBecause(t.store, 'unknown', { key: 'unknown' });
    await foundBecause(t.store, 'in-progress', { key: 'open' });
  });

  test('the reaper deletes at most as many as it is told, and all in the end', async (t) => {
    for (let i = 0; i < 5; i += 1) await finished(t.store, 'completed', { key: `old-${i}` });
    await t.advance(RETENTION_MS);
    await finished(t.store, 'completed', { key: 'young' });
    assert.equal((await t.store.reap(2)).count, 2);
    assert.equal((await t.store.reap(2)).count, 2);
    assert.equal((await t.store.reap(2)).count, 1);
    assert.equal((await t.store.reap(2)).count, 0);
    assert.equal((await recordOf(t.store, { ...ID, key: 'young' })).state, 'completed');
  });

  test('the sweeper ends claims that are over by their way, and tells which', async (t) => {
    const plain = await claimed(t.store, { key: 'plain' });
    const resumable = await claimed(t.store, { key: 'resumable', whenClaimEnds: 'resume' });
    await finished(t.store, 'completed', { key: 'final' });
    await t.advance(CLAIM_TTL_MS - 1);
    const living = await claimed(t.store, { key: 'living' });
    assert.deepEqual(await t.store.sweep(10), []);
    await t.advance(1);
    const swept = [...(await t.store.sweep(10))].toSorted((a, b) => a.key.localeCompare(b.key));
    const operation = 'POST /payments';
    const over = { from: 'in_progress', reason: 'claim-ended', ageMs: 0 };
    assert.deepEqual(swept, [
      { ...fencedId(plain), operation, ...over, to: 'unknown' },
      { ...fencedId(resumable), operation, ...over, to: 'retryable' },
    ]);
    const ended = await recordOf(t.store, plain);
    assert.equal(ended.reason, 'claim-ended');
    assert.equal(ended.reconcileAfter, ended.createdAt + CLAIM_TTL_MS);
    assert.equal((await recordOf(t.store, resumable)).proof, 'policy');
    assert.equal((await recordOf(t.store, living)).state, 'in_progress');
    assert.deepEqual(await t.store.sweep(10), []);
  });

  test('the sweeper ends at most as many claims as it is told, and all in the end', async (t) => {
    for (let i = 0; i < 5; i += 1) await claimed(t.store, { key: `k${i}` });
    await t.advance(CLAIM_TTL_MS);
    assert.equal((await t.store.sweep(2)).length, 2);
    assert.equal((await t.store.sweep(2)).length, 2);
    assert.equal((await t.store.sweep(2)).length, 1);
    assert.equal((await t.store.sweep(2)).length, 0);
    assert.equal((await t.store.count()).unknown, 5);
  });

  test('records are listed newest first, by state, operation, scope and page', async (t) => {
    for (const [key, scope, operation, to] of [
      ['k1', 's1', 'POST /a', 'completed'],
      ['k2', 's2', 'POST /a', 'failed'],
      ['k3', 's1', 'POST /b', 'unknown'],
      ['k4', 's1', 'POST /a', 'retryable'],
    ] as const) {
      await finished(t.store, to, { key, scope, operation });
      await t.advance(1);
    }
    await claimed(t.store, { key: 'k5', scope: 's2', operation: 'POST /b' });
    const keys = async (request: Parameters<typeof t.store.list>[0]): Promise<string> =>
      (await t.store.list(request)).map(({ key }) => key).join(' ');
    assert.equal(await keys({}), 'k5 k4 k3 k2 k1');
    assert.equal(await keys({ limit: 2 }), 'k5 k4');
    assert.equal(await keys({ states: ['completed', 'unknown'] }), 'k3 k1');
    assert.equal(await keys({ states: ['unknown', 'in_progress', 'retryable'] }), 'k5 k4 k3');
    assert.equal(await keys({ states: ['unknown'] }), 'k3');
    assert.equal(await keys({ states: [] }), '');
    assert.equal(await keys({ operation: 'POST /a' }), 'k4 k2 k1');
    assert.equal(await keys({ scope: 's1', operation: 'POST /a' }), 'k4 k1');
    assert.equal(await keys({ key: 'k3' }), 'k3');
    assert.equal(await keys({ key: 'k3', scope: 's2' }), '');
    const { createdAt } = await recordOf(t.store, { scope: 's1', key: 'k3' });
    assert.equal(await keys({ createdBefore: createdAt }), 'k2 k1');
    assert.equal(await keys({ createdBefore: createdAt, limit: 1, scope: 's1' }), 'k1');
  });

  // F25
  test('the records of a caller are those of its operations, and of no caller whose name begins alike', async (t) => {
    const caller = encodeScope(['t1', 'alice'], null);
    const all = [
      caller,
      encodeScope(['t1', 'alice'], 'POST /a'),
      encodeScope(['t1', 'alice'], '}'),
      encodeScope(['t1', 'alice', 'x'], 'POST /a'),
      encodeScope(['t1', 'alice}'], 'POST /a'),
      encodeScope(['t1', 'alic'], 'POST /a'),
      encodeScope(['t1'], null),
    ];
    for (const scope of all) {
      await finished(t.store, 'completed', { scope });
      await t.advance(1);
    }
    const listed = await t.store.list({ caller });
    assert.deepEqual(
      listed.map(({ scope }) => scope),
      all.slice(0, 3).toReversed(),
    );
    const both = async (scope: string): Promise<readonly string[]> =>
      (await t.store.list({ caller, scope })).map((record) => record.scope);
    for (const scope of all.slice(0, 3)) assert.deepEqual(await both(scope), [scope]);
    for (const scope of all.slice(3)) assert.deepEqual(await both(scope), []);
  });

  test('a listed record is the record', async ({ store }) => {
    await finished(store, 'completed');
    assert.deepEqual(await store.list({}), [await recordOf(store)]);
  });

  test('a key that starts a new life is listed by its new age', async (t) => {
    await finished(t.store, 'completed', { key: 'first' });
    await t.advance(RETENTION_MS - 10);
    await finished(t.store, 'completed', { key: 'second' });
    await t.advance(10);
    await claimed(t.store, { key: 'first' });
    assert.deepEqual(
      (await t.store.list({})).map(({ key }) => key),
      ['first', 'second'],
    );
  });

  test('every state is counted, also those without a record', async (t) => {
    const zero = Object.fromEntries(STATES.map((state) => [state, 0]));
    assert.deepEqual(await t.store.count(), zero);
    for (const to of ['completed', 'failed', 'retryable', 'unknown'] as const) {
      for (let i = 0; i < 2; i += 1) await finished(t.store, to, { key: `${to}-${i}` });
    }
    await claimed(t.store, { key: 'open' });
    assert.deepEqual(await t.store.count(), {
      ...zero,
      completed: 2,
      failed: 2,
      retryable: 2,
      unknown: 2,
      in_progress: 1,
    });
  });

  // F62: until then another process may replay the answer from what it read.
  test('a forgotten key acts as never used once nobody can replay its answer', async (t) => {
    const owner = await finished(t.store, 'failed', { tombstoneMs: 500 });
    assert.equal(only(await forgetAsSeen(t.store, owner)).kind, 'applied');
    const left = await recordOf(t.store);
    assert.deepEqual([left.response, left.fingerprint, left.reason], [null, null, 'forgotten']);
    assert.deepEqual(only(await forgetAsSeen(t.store, owner)), { kind: 'already' });
    const otherBody = { fingerprint: { label: 'v1', digest: 'another' } };
    const { claimLeftMs } = await foundBecause(t.store, 'in-progress', otherBody);
    assert.equal(claimLeftMs, REOPEN_DELAY_MS);
    await t.advance(REOPEN_DELAY_MS - 1);
    assert.equal((await foundBecause(t.store, 'in-progress')).claimLeftMs, 1);
    assert.equal((await t.store.reap(10)).count, 0);
    await t.advance(1);
    assert.equal((await claimed(t.store, otherBody)).attempt, 1);
    const fresh = await recordOf(t.store);
    assert.equal(fresh.createdAt, left.createdAt + REOPEN_DELAY_MS);
    assert.equal(fresh.fingerprint?.digest, 'another');
  });

  test('what is left of a forgotten key is reaped, and its late owner changes nothing', async (t) => {
    const owner = await finished(t.store, 'completed');
    await forgetAsSeen(t.store, owner);
    assert.equal(only(await t.store.finish([finishRequest(owner, 'completed')])).kind, 'refused');
    await t.advance(REOPEN_DELAY_MS);
    assert.equal((await t.store.reap(10)).count, 1);
    assert.deepEqual(await t.store.find([ID]), [null]);
    assert.deepEqual(only(await forgetAsSeen(t.store, owner)), { kind: 'already' });
  });

  test('a forgotten key whose answer was never kept runs again at once', async ({ store }) => {
    const owner = await finished(store, 'retryable');
    assert.equal(only(await forgetAsSeen(store, owner)).kind, 'applied');
    assert.deepEqual(await store.find([ID]), [null]);
    assert.equal((await claimed(store)).attempt, 1);
  });

  // F62
  test('a reopened key runs again once nobody can replay its answer, and not before', async (t) => {
    const owner = await finished(t.store, 'failed');
    assert.equal(only(await t.store.reopen([handRequest(owner, 'mended')])).kind, 'applied');
    const { claimLeftMs } = await foundBecause(t.store, 'in-progress');
    assert.equal(claimLeftMs, REOPEN_DELAY_MS);
    // What its late owner says of it does not bring the next run forward.
    assert.equal(only(await t.store.finish([finishRequest(owner, 'retryable')])).kind, 'refused');
    await t.advance(REOPEN_DELAY_MS - 1);
    await foundBecause(t.store, 'in-progress');
    await t.advance(1);
    assert.equal((await claimed(t.store)).attempt, 2);
  });

  test('a key that is reopened or settled as retryable runs at least once more, whatever its attempts', async (t) => {
    const settled = await finished(t.store, 'unknown', { key: 'settled', attemptMax: 1 });
    await t.store.settle([settleRequest(settled, 'retryable')]);
    assert.equal((await claimed(t.store, { key: 'settled', attemptMax: 1 })).attempt, 2);
    const reopened = await finished(t.store, 'retryable', { key: 'reopened', attemptMax: 1 });
    await foundBecause(t.store, 'exhausted', { key: 'reopened', attemptMax: 1 });
    await t.store.reopen([handRequest(reopened, 'more of them')]);
    const again = await claimed(t.store, { key: 'reopened', attemptMax: 1 });
    assert.equal(again.attempt, 2);
    await t.store.finish([finishRequest(again, 'retryable')]);
    await foundBecause(t.store, 'exhausted', { key: 'reopened', attemptMax: 1 });
  });

  test('a key settled as retryable runs at once, also where its claim had been watched', async (t) => {
    const other = (await t.another?.({ wallOffsetMs: 0 })) ?? t.store;
    const owner = await claimed(t.store);
    await foundBecause(other, 'in-progress');
    await t.store.finish([finishRequest(owner, 'unknown')]);
    await t.store.settle([settleRequest(owner, 'retryable')]);
    assert.equal((await claimed(other)).attempt, 2);
  });

  // F62
  test('a key reopened by another process waits as long here', async (t) => {
    const other = (await t.another?.({ wallOffsetMs: 0 })) ?? t.store;
    const owner = await claimed(t.store);
    await foundBecause(other, 'in-progress');
    await t.store.finish([finishRequest(owner, 'failed')]);
    await t.store.reopen([handRequest(owner, 'mended')]);
    await foundBecause(other, 'in-progress');
    await t.advance(REOPEN_DELAY_MS - 1);
    await foundBecause(other, 'in-progress');
    await t.advance(1);
    assert.equal((await claimed(other)).attempt, 2);
  });

  test('a final answer is told with how long it may be replayed', async (t) => {
    await finished(t.store, 'completed');
    await t.advance(10);
    assert.equal((await foundBecause(t.store, 'final')).lifeLeftMs, RETENTION_MS - 10);
  });
}
