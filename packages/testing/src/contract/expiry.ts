/** What is left when the retention ends: tombstones, and nothing of the old life in the new one. */

import assert from 'node:assert/strict';
import {
  type AddTest,
  claimed,
  finished,
  finishRequest,
  forgetAsSeen,
  foundBecause,
  ID,
  RETENTION_MS,
  recordOf,
  settleRequest,
} from './context.ts';

export function expiryTests(test: AddTest): void {
  // F48, F55
  test('every state that expires leaves a tombstone, for every kind of claim and whoever asks', async (t) => {
    const other = (await t.another?.({ wallOffsetMs: 0 })) ?? t.store;
    const tombstoneMs = RETENTION_MS;
    for (const to of ['completed', 'failed', 'retryable'] as const) {
      await finished(t.store, to, { key: to, tombstoneMs });
    }
    await t.advance(RETENTION_MS);
    for (const key of ['completed', 'failed', 'retryable']) {
      const before = await recordOf(t.store, { ...ID, key });
      const fingerprint = { label: 'v2', digest: 'of another body' };
      for (const store of [t.store, other]) {
        await foundBecause(store, 'expired', { key });
        await foundBecause(store, 'expired', { key, fingerprint });
        await foundBecause(store, 'expired', { key, tombstoneMs: 0, attemptMax: 1 });
        await foundBecause(store, 'expired', { key, entry: 'take' });
        await foundBecause(store, 'expired', { key, entry: 'accept', input: new Uint8Array([1]) });
      }
      assert.deepEqual(await recordOf(t.store, { ...ID, key }), before);
    }
    assert.equal((await t.store.reap(10)).count, 0);
    await t.advance(RETENTION_MS);
    assert.equal((await t.store.reap(10)).count, 3);
  });

  // F58: the time as a tombstone begins when the life of the answer ends, not when the retention would have.
  for (const by of ['a reconciler', 'its owner'] as const) {
    test(`a tombstone of a record that became final late, by ${by}, begins late, and the reaper waits for it`, async (t) => {
      const isOwn = by === 'its owner';
      const owner = await (isOwn
        ? claimed(t.store, { tombstoneMs: 500 })
        : finished(t.store, 'unknown', { tombstoneMs: 500 }));
      await t.advance(RETENTION_MS * 1.25);
      if (isOwn) await t.store.finish([finishRequest(owner, 'failed')]);
      else await t.store.settle([settleRequest(owner, 'failed')]);
      await t.advance(500);
      assert.equal((await t.store.reap(10)).count, 0);
      await foundBecause(t.store, 'final');
      await t.advance(RETENTION_MS - 500);
      for (let looks = 0; looks < 2; looks += 1) assert.equal((await t.store.reap(10)).count, 0);
      await foundBecause(t.store, 'expired');
      await t.advance(500);
      assert.equal((await t.store.reap(10)).count, 1);
      assert.deepEqual(await t.store.find([ID]), [null]);
    });
  }

  // F55: the new life has nothing of the old one, so its downstream keys differ too.
  test('a key used again after its retention begins anew in every field, reaped or not', async (t) => {
    const input = new Uint8Array([1, 2, 3]);
    const lives = [];
    for (const reaps of [false, true]) {
      const owner = await claimed(t.store, { input, whenClaimEnds: 'resume' });
      const checkpoint = { claimTtlMs: 10, recoveryPoint: 'paid', steps: '[1]', intentOpen: false };
      await t.store.checkpoint([{ ...owner, ...checkpoint }]);
      await t.store.finish([finishRequest(owner, 'failed', { reason: 'status-402' })]);
      await t.advance(RETENTION_MS);
      assert.equal((await t.store.reap(reaps ? 10 : 0)).count, reaps ? 1 : 0);
      const other = { label: 'v1', digest: 'another' };
      const next = await claimed(t.store, { fingerprint: other, claimTtlMs: 7 });
      const { createdAt, expiresAt, claimId, lockedUntil, ...rest } = await recordOf(t.store);
      assert.deepEqual(
        [claimId, expiresAt, lockedUntil],
        [next.claimId, createdAt + RETENTION_MS, createdAt + 7],
      );
      lives.push(rest);
      await t.store.finish([finishRequest(next, 'retryable')]);
      await forgetAsSeen(t.store, next);
    }
    assert.deepEqual(lives[0], lives[1]);
    const { state, attempt, response, reason, proof, steps, recoveryPoint, input: kept } = lives[0] ?? {};
    assert.deepEqual(
      [state, attempt, response, reason, proof, steps, recoveryPoint, kept],
      ['in_progress', 1, null, null, null, null, null, null],
    );
  });
}
