/** The end of attempts: what owners write, early, late, twice, or too late. */

import assert from 'node:assert/strict';
import { REOPEN_DELAY_MS } from 'samekey/internals/core/record';
import {
  type AddTest,
  ANSWER,
  CLAIM_TTL_MS,
  claimed,
  claimRequest,
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

export function ownerTests(test: AddTest): void {
  test('a finished attempt keeps its answer and its end, and nothing else changes', async (t) => {
    const owner = await claimed(t.store);
    const before = await recordOf(t.store);
    await t.advance(1_000);
    const result = only(await t.store.finish([finishRequest(owner, 'completed', { reason: 'ok' })]));
    const finishedAt = before.createdAt + 1_000;
    const expiresAt = finishedAt + RETENTION_MS;
    assert.deepEqual(result, { kind: 'applied', expiresAt });
    const after = await recordOf(t.store);
    assert.deepEqual(after, {
      ...before,
      state: 'completed',
      sealKeyId: after.sealKeyId,
      lockedUntil: finishedAt,
      reason: 'ok',
      response: ANSWER,
      finishedAt,
      expiresAt,
    });
  });

  test('a finish whose reply was lost is repeated without harm', async (t) => {
    for (const to of ['completed', 'failed', 'retryable', 'unknown'] as const) {
      const owner = await claimed(t.store, { key: to });
      const first = only(await t.store.finish([finishRequest(owner, to)]));
      const record = await recordOf(t.store, owner);
      await t.advance(10);
      const again = only(await t.store.finish([finishRequest(owner, to)]));
      assert.deepEqual(again, { ...first, kind: 'already' });
      assert.deepEqual(await recordOf(t.store, owner), record);
    }
  });

  test('a final answer is not overwritten by its own attempt', async ({ store }) => {
    const owner = await finished(store, 'completed');
    const record = await recordOf(store);
    for (const to of ['failed', 'retryable', 'unknown'] as const) {
      assert.deepEqual(only(await store.finish([finishRequest(owner, to)])), { kind: 'refused', record });
    }
  });

  // F56, F57: what a policy makes of an error is kept with its proof, and decides what the next request meets.
  test('an unknown outcome is kept as such, with the time to look at it again', async (t) => {
    const owner = await claimed(t.store);
    await t.store.finish([
      finishRequest(owner, 'unknown', { reason: 'timed out', reconcileAfterMs: 60_000 }),
    ]);
    const record = await recordOf(t.store);
    assert.equal(record.reconcileAfter, record.createdAt + 60_000);
    assert.equal(record.reason, 'timed out');
    assert.equal(record.finishedAt, null);
    await foundBecause(t.store, 'unknown');
  });

  // F4: frozen for two claims, then awake; nobody else has come.
  test('a late owner that nobody has replaced takes its claim back or finishes', async (t) => {
    for (const way of ['unknown', 'resume'] as const) {
      const owner = await claimed(t.store, { key: way, whenClaimEnds: way });
      await t.advance(2 * CLAIM_TTL_MS);
      assert.equal((await t.store.sweep(10)).length, 1);
      const renewed = only(await t.store.renew([renewRequest(owner)])).kind;
      // Proven without effect is a promise to the next request; unknown is none.
      assert.equal(renewed, way === 'unknown' ? 'renewed' : 'lost');
      assert.equal(only(await t.store.finish([finishRequest(owner, 'completed')])).kind, 'applied');
      assert.deepEqual((await recordOf(t.store, owner)).response, ANSWER);
      assert.equal((await recordOf(t.store, owner)).reconcileAfter, null);
    }
  });

  // F4, F5, F6: the frozen one comes back after somebody else has taken over.
  test('a late owner whose key was claimed again changes nothing, and is told', async (t) => {
    const old = await claimed(t.store, { whenClaimEnds: 'resume' });
    await t.advance(CLAIM_TTL_MS);
    const owner = await claimed(t.store);
    const record = await recordOf(t.store);
    assert.deepEqual(only(await t.store.renew([renewRequest(old)])), { kind: 'lost', record });
    for (const to of ['completed', 'failed', 'retryable', 'unknown'] as const) {
      assert.deepEqual(only(await t.store.finish([finishRequest(old, to)])), { kind: 'refused', record });
    }
    assert.equal(only(await t.store.finish([finishRequest(owner, 'completed')])).kind, 'applied');
  });

  test('an outcome that somebody else decided is not taken for its owner’s own write', async ({ store }) => {
    const owner = await finished(store, 'unknown');
    assert.equal(only(await store.settle([settleRequest(owner, 'completed')])).kind, 'applied');
    const record = await recordOf(store);
    assert.equal(record.proof, 'settled');
    assert.deepEqual(only(await store.finish([finishRequest(owner, 'completed')])), {
      kind: 'refused',
      record,
    });
  });

  // F8: a waiter writes nothing; its claimId was never granted.
  test('one who only waited cannot end the attempt it waited for', async ({ store }) => {
    await claimed(store);
    const { record } = await foundBecause(store, 'in-progress', { claimId: 'claim-of-the-waiter' });
    const waiter = { ...ID, claimId: 'claim-of-the-waiter', attempt: record.attempt };
    assert.equal(only(await store.finish([finishRequest(waiter, 'retryable')])).kind, 'refused');
    assert.equal(only(await forgetAsSeen(store, waiter)).kind, 'refused');
    assert.deepEqual(await recordOf(store), record);
  });

  // F58: settled 30 hours after first use with a retention of 24.
  test('a record that becomes final late lives long enough to be replayed', async (t) => {
    const owner = await finished(t.store, 'unknown');
    await t.advance(RETENTION_MS * 1.25);
    await t.store.settle([settleRequest(owner, 'completed')]);
    await t.advance(RETENTION_MS - 1);
    assert.deepEqual((await foundBecause(t.store, 'final')).record.response, ANSWER);
    await t.advance(1);
    assert.equal((await claimed(t.store)).attempt, 1);
  });

  test('a retention may be lengthened at the end, and is never shortened', async (t) => {
    for (const to of ['completed', 'failed', 'retryable', 'unknown'] as const) {
      const owner = await claimed(t.store, { key: to, replayMinMs: 1 });
      const { createdAt } = await recordOf(t.store, owner);
      await t.advance(1_000);
      const expiresAt = createdAt + RETENTION_MS + 500;
      const result = only(await t.store.finish([finishRequest(owner, to, { extendMs: 500 })]));
      assert.deepEqual(result, { kind: 'applied', expiresAt });
      assert.equal((await recordOf(t.store, owner)).expiresAt, expiresAt);
    }
  });

  // F7: a refusal by business rule is an answer like any other.
  test('a final refusal is found by later requests until an operator opens it', async (t) => {
    const owner = await finished(t.store, 'failed');
    const { record } = await foundBecause(t.store, 'final');
    assert.equal(record.state, 'failed');
    assert.equal(only(await t.store.reopen([handRequest(owner, 'stock is back')])).kind, 'applied');
    const reopened = await recordOf(t.store);
    assert.equal(reopened.response, null);
    assert.equal(reopened.reason, 'stock is back');
    await t.advance(REOPEN_DELAY_MS);
    assert.equal((await claimed(t.store)).attempt, 2);
  });

  // F6: the copy of a write that was lost on its way, and comes when an operator has acted.
  test('a late copy of the end does not undo a reopening, and a late copy of the claim takes nothing', async (t) => {
    const claim = claimRequest();
    assert.equal(only(await t.store.claim([claim])).kind, 'claimed');
    const owner = { ...ID, claimId: claim.claimId, attempt: 1 };
    const end = finishRequest(owner, 'failed');
    await t.store.finish([end]);
    assert.equal(only(await t.store.reopen([handRequest(owner)])).kind, 'applied');
    assert.equal(only(await t.store.reopen([handRequest(owner)])).kind, 'already');
    const record = await recordOf(t.store);
    assert.deepEqual(only(await t.store.finish([end])), { kind: 'refused', record });
    assert.deepEqual(only(await t.store.renew([renewRequest(owner)])), { kind: 'lost', record });
    await t.advance(REOPEN_DELAY_MS);
    const late = only(await t.store.claim([claim]));
    assert.equal(late.kind === 'found' && late.because, 'spent');
    assert.equal(only(await t.store.finish([end])).kind, 'refused');
    assert.deepEqual(await recordOf(t.store), record);
    assert.equal((await claimed(t.store)).attempt, 2);
  });

  test('what nobody came to know is reopened only by whoever says that nothing happened', async (t) => {
    const owner = await finished(t.store, 'unknown');
    await t.advance(1_000);
    assert.equal((await t.store.sweep(10, { unknownMaxMs: 1_000 })).length, 1);
    const record = await recordOf(t.store);
    assert.deepEqual(only(await t.store.reopen([handRequest(owner)])), { kind: 'refused', record });
    assert.deepEqual(await t.store.audit({}), []);
    const request = { ...handRequest(owner), effect: 'none' } as const;
    assert.equal(only(await t.store.reopen([request])).kind, 'applied');
    await t.advance(REOPEN_DELAY_MS);
    assert.equal((await claimed(t.store)).attempt, 2);
  });
}
