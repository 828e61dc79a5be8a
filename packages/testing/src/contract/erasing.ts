/** Erasing a caller: what goes, what stays, and that nothing of it ever runs or comes back. */

import assert from 'node:assert/strict';
import { isStoreError } from 'samekey/internals/core/errors';
import { callerScope, encodeScope } from 'samekey/internals/core/scope';
import {
  type AddTest,
  ANSWER,
  CLAIM_TTL_MS,
  claimed,
  claimRequest,
  describeResult,
  eraseRequest,
  fencedId,
  finished,
  finishRequest,
  forgetAsSeen,
  foundBecause,
  handRequest,
  only,
  RETENTION_MS,
  recordOf,
  renewRequest,
  settleRequest,
} from './context.ts';

const CALLER = callerScope(['tenant-1', 'ada']);
const SCOPE = encodeScope(['tenant-1', 'ada'], 'POST /payments');

export function erasingTests(test: AddTest): void {
  test('an erased record keeps its key and nothing else, and its key is met as an answer that was not stored', async (t) => {
    const input = new TextEncoder().encode('{"card":"4242"}');
    const owner = await claimed(t.store, { scope: SCOPE, input });
    const checkpoint = { claimTtlMs: CLAIM_TTL_MS, recoveryPoint: 'paid', steps: '[1]', intentOpen: false };
    await t.store.checkpoint([{ ...owner, ...checkpoint }]);
    await t.store.finish([finishRequest(owner, 'completed', { reason: 'said the bank' })]);
    const before = await recordOf(t.store, owner);
    assert.deepEqual(await t.store.erase(eraseRequest(CALLER)), { erased: 1, left: 0 });
    const { claimId, expiresAt, ...rest } = await recordOf(t.store, owner);
    const { claimId: _claimId, expiresAt: _expiresAt, ...kept } = before;
    assert.deepEqual(rest, {
      ...kept,
      reason: 'erased',
      sealKeyId: null,
      response: null,
      fingerprint: null,
      recoveryPoint: null,
      steps: null,
      input: null,
    });
    assert.notEqual(claimId, owner.claimId);
    assert.ok(expiresAt > Date.UTC(9000, 0));
    const { record, lifeLeftMs } = await foundBecause(t.store, 'final', { scope: SCOPE });
    assert.deepEqual([record.state, record.response], ['completed', null]);
    assert.ok(lifeLeftMs > RETENTION_MS);
  });

  test('an erased key never runs again: not for another body, not after any time, not reaped', async (t) => {
    await finished(t.store, 'completed', { scope: SCOPE, tombstoneMs: 10 });
    await t.store.erase(eraseRequest(CALLER));
    await t.advance(RETENTION_MS * 1_000);
    assert.equal((await t.store.reap(100)).count, 0);
    const otherBody = { label: 'v1', digest: 'another' };
    await foundBecause(t.store, 'final', { scope: SCOPE, fingerprint: otherBody });
    await foundBecause(t.store, 'final', { scope: SCOPE, entry: 'take' });
    await foundBecause(t.store, 'final', { scope: SCOPE, entry: 'accept', input: new Uint8Array([1]) });
  });

  test('what had expired and was not reaped is erased too, and its key never runs again', async (t) => {
    await finished(t.store, 'failed', { scope: SCOPE });
    await t.advance(RETENTION_MS);
    assert.deepEqual(await t.store.erase(eraseRequest(CALLER)), { erased: 1, left: 0 });
    await foundBecause(t.store, 'final', { scope: SCOPE });
  });

  // A finish whose reply was lost is repeated, also after the answer was erased.
  test('no late owner and no operator brings an erased record back, under the old fence or the new one', async ({
    store,
  }) => {
    for (const to of ['completed', 'failed', 'retryable'] as const) {
      const owner = await finished(store, to, { scope: SCOPE, key: to });
      await store.erase(eraseRequest(CALLER));
      const before = await recordOf(store, owner);
      for (const fence of [owner, fencedId(before)]) {
        const kinds = [
          ...(await store.finish([finishRequest(fence, 'completed', { response: ANSWER })])),
          ...(await store.renew([renewRequest(fence)])),
          ...(await store.settle([settleRequest(fence, 'completed')])),
          ...(await store.reopen([handRequest(fence)])),
          ...(await forgetAsSeen(store, fence)),
        ].map(({ kind }) => kind);
        // The fence of the tombstone itself is nobody's; a finish under it finds the state it wants, and writes nothing.
        const finish = fence !== owner && to === 'completed' ? 'already' : 'refused';
        assert.deepEqual(kinds, [finish, 'lost', 'refused', 'refused', 'refused'], to);
      }
      assert.equal(describeResult(only(await store.claim([claimRequest(owner)]))), 'found final');
      assert.deepEqual(await recordOf(store, owner), before, to);
    }
  });

  test('what somebody works on, what nobody knows, and an effect that may have happened are left and counted', async (t) => {
    const working = await claimed(t.store, { scope: SCOPE, key: 'working' });
    await finished(t.store, 'unknown', { scope: SCOPE, key: 'unknown' });
    const effect = await claimed(t.store, { scope: SCOPE, key: 'effect' });
    const checkpoint = { claimTtlMs: CLAIM_TTL_MS, recoveryPoint: null, steps: '[1]', intentOpen: true };
    await t.store.checkpoint([{ ...effect, ...checkpoint }]);
    await t.store.finish([finishRequest(effect, 'retryable')]);
    const before = await t.store.list({ caller: CALLER });
    assert.deepEqual(await t.store.erase(eraseRequest(CALLER)), { erased: 0, left: 3 });
    assert.deepEqual(await t.store.list({ caller: CALLER }), before);
    assert.equal(only(await t.store.finish([finishRequest(working, 'completed')])).kind, 'applied');
    assert.deepEqual(await t.store.erase(eraseRequest(CALLER)), { erased: 1, left: 2 });
  });

  test('what was accepted and not begun fails, and its worker begins nothing', async ({ store }) => {
    const accept = claimRequest({ scope: SCOPE, entry: 'accept', input: new Uint8Array([1]) });
    assert.equal(describeResult(only(await store.claim([accept]))), 'accepted');
    assert.deepEqual(await store.erase(eraseRequest(CALLER)), { erased: 1, left: 0 });
    const record = await recordOf(store, accept);
    assert.deepEqual([record.state, record.reason, record.input], ['failed', 'erased', null]);
    assert.deepEqual(await store.due({ operations: [accept.operation], limit: 10 }), []);
    await foundBecause(store, 'final', { scope: SCOPE, entry: 'take' });
    // Its own accept, repeated because the reply was lost.
    assert.equal(describeResult(only(await store.claim([accept]))), 'found final');
  });

  // F25, F30
  test('only the caller that is named is erased, with all of its operations', async ({ store }) => {
    const others = [
      encodeScope(['tenant-1'], 'POST /payments'),
      encodeScope(['tenant-1', 'ada', 'x'], 'POST /payments'),
      encodeScope(['tenant-1', 'adam'], 'POST /payments'),
      encodeScope(['tenant-1', 'ada '], null),
      encodeScope(['tenant-1', 'Ada'], 'POST /payments'),
      encodeScope(['tenant-1', 'ada}'], null),
    ];
    const own = [SCOPE, encodeScope(['tenant-1', 'ada'], 'POST /refunds'), CALLER];
    for (const scope of [...others, ...own]) await finished(store, 'completed', { scope });
    assert.deepEqual(await store.erase(eraseRequest(CALLER)), { erased: own.length, left: 0 });
    for (const scope of own) assert.equal((await recordOf(store, { scope, key: 'key-1' })).reason, 'erased');
    for (const scope of others) {
      assert.deepEqual((await recordOf(store, { scope, key: 'key-1' })).response, ANSWER, scope);
    }
    assert.deepEqual(await store.erase(eraseRequest('nobody')), { erased: 0, left: 0 });
  });

  test('a call erases at most as many as it is told, and calls end with nothing left', async ({ store }) => {
    for (let i = 0; i < 5; i += 1) await finished(store, 'completed', { scope: SCOPE, key: `k${i}` });
    assert.deepEqual(await store.erase(eraseRequest(CALLER, 0)), { erased: 0, left: 5 });
    assert.deepEqual(await store.erase(eraseRequest(CALLER, 2)), { erased: 2, left: 3 });
    assert.deepEqual(await store.erase(eraseRequest(CALLER, 2)), { erased: 2, left: 1 });
    assert.deepEqual(await store.erase(eraseRequest(CALLER, 2)), { erased: 1, left: 0 });
    assert.deepEqual(await store.erase(eraseRequest(CALLER, 2)), { erased: 0, left: 0 });
  });

  test('each erased record leaves one row in the audit, with its key and without its content', async ({
    store,
  }) => {
    await finished(store, 'retryable', { scope: SCOPE, key: 'a' });
    await finished(store, 'completed', { scope: SCOPE, key: 'b' });
    await finished(store, 'unknown', { scope: SCOPE, key: 'c' });
    await store.erase(eraseRequest(CALLER));
    await store.erase(eraseRequest(CALLER));
    const rows = (await store.audit({})).map(({ seq: _seq, at: _at, ...row }) => row);
    const common = {
      scope: SCOPE,
      operation: 'POST /payments',
      attempt: 1,
      act: 'erase',
      reason: 'asked to be forgotten',
      actor: 'operator-1',
    };
    assert.deepEqual(
      rows.toSorted((one, other) => one.key.localeCompare(other.key)),
      [
        { ...common, key: 'a', from: 'retryable', to: 'failed' },
        { ...common, key: 'b', from: 'completed', to: 'completed' },
      ],
    );
  });

  test('erasing without a reason, or by a scope with an operation, is refused and does nothing', async ({
    store,
  }) => {
    await finished(store, 'completed', { scope: SCOPE });
    for (const request of [{ ...eraseRequest(CALLER), reason: ' ' }, eraseRequest(SCOPE), eraseRequest('')]) {
      await assert.rejects(
        () => store.erase(request),
        (error) => isStoreError(error) && error.applied === 'no' && !error.transient,
      );
    }
    assert.deepEqual((await recordOf(store, { scope: SCOPE, key: 'key-1' })).response, ANSWER);
  });
}
