/** What people and providers say of a record: what passes into it, and what is refused before anything is written. */

import assert from 'node:assert/strict';
import type { StoredResponse } from 'samekey/internals/core/response';
import type { FencedId, FinishRequest, SettleRequest } from 'samekey/internals/store/store';
import {
  type AddTest,
  ANSWER,
  CLAIM_TTL_MS,
  claimed,
  fencedId,
  finished,
  finishRequest,
  forgetAsSeen,
  handRequest,
  ID,
  only,
  recordOf,
  type StoreUnderTest,
  settleRequest,
} from './context.ts';

const OPEN = '{"v":1,"steps":[{"kind":"effect","name":"charge","input":"d","done":null}]}';
const DONE = '{"v":1,"steps":[{"kind":"effect","name":"charge","input":"d","done":{"result":"ch_1"}}]}';

export function byHandTests(test: AddTest): void {
  // F152
  test('what was settled is settled again to the same by the same answer only, and stands against every other', async (t) => {
    const owner = await finished(t.store, 'unknown');
    const first = settleRequest(owner, 'completed');
    assert.equal(only(await t.store.settle([first])).kind, 'applied');
    const stands = await recordOf(t.store);
    assert.equal(only(await t.store.settle([{ ...first, actor: 'operator-2' }])).kind, 'already');
    const others: readonly Partial<SettleRequest>[] = [
      { response: { ...ANSWER, status: 200 } },
      { response: { ...ANSWER, headers: [] } },
      { response: { ...ANSWER, body: new Uint8Array([1]) } },
      { response: null },
      { ...settleRequest(owner, 'failed') },
      { ...settleRequest(owner, 'retryable') },
    ];
    for (const other of others)
      assert.deepEqual(await t.store.settle([{ ...first, ...other }]), [{ kind: 'refused', record: stands }]);
    assert.deepEqual(await recordOf(t.store), stands);
    assert.equal((await t.store.audit({})).length, 1);
  });

  // F152
  test('the result that an open effect was settled with stands against another', async (t) => {
    const owner = await withOpenEffect(t, 'unknown');
    const first = { ...settleRequest(owner, 'retryable'), newSteps: DONE };
    assert.equal(only(await t.store.settle([first])).kind, 'applied');
    assert.equal(only(await t.store.settle([first])).kind, 'already');
    const other = { ...first, newSteps: DONE.replace('ch_1', 'ch_2') };
    assert.equal(only(await t.store.settle([other])).kind, 'refused');
    assert.equal((await recordOf(t.store)).steps, DONE);
  });

  // F145: no verb leads out of a state that is none.
  test('no verb writes a state that the table does not have', async (t) => {
    const owner = await finished(t.store, 'unknown');
    const before = await recordOf(t.store);
    for (const to of ['done', 'pending', 'in_progress', 'expired', '', 'Completed']) {
      const end = finishRequest(owner, to as FinishRequest['to']);
      await assert.rejects(async () => t.store.finish([end]), to);
      const settled = { ...settleRequest(owner, 'completed'), to: to as SettleRequest['to'] };
      await assert.rejects(async () => t.store.settle([settled]), to);
      if (t.transaction !== undefined)
        await assert.rejects(
          t.transaction(async (within) => within.finish(end)),
          to,
        );
    }
    await assert.rejects(async () =>
      t.store.settle([{ ...settleRequest(owner, 'completed'), to: 'unknown' as never }]),
    );
    assert.deepEqual(await recordOf(t.store), before);
    assert.deepEqual(await t.store.audit({}), []);
  });

  // F144, F145
  test('an answer that no server could send, or that does not fit its state, is refused before anything is written', async (t) => {
    const owner = await finished(t.store, 'unknown');
    const before = await recordOf(t.store);
    const wrong: readonly (readonly [SettleRequest['to'], unknown])[] = [
      ['completed', { ...ANSWER, headers: [['x-a', 'a\r\nx-b: b']] }],
      ['completed', { ...ANSWER, headers: [['x-a', '\u0141']] }],
      ['completed', { ...ANSWER, headers: [['x a', 'a']] }],
      ['completed', { ...ANSWER, headers: new Map([['x-a', 'a']]) }],
      ['completed', { ...ANSWER, trailers: [['x-a', 'a\n']] }],
      ['completed', { ...ANSWER, body: new Map() }],
      ['completed', { ...ANSWER, body: '{}' }],
      ['completed', { ...ANSWER, status: 500 }],
      ['completed', { ...ANSWER, status: 101 }],
      ['failed', ANSWER],
      ['retryable', ANSWER],
    ];
    for (const [to, response] of wrong) {
      const request = { ...settleRequest(owner, to), response: response as StoredResponse };
      await assert.rejects(async () => t.store.settle([request]), JSON.stringify(response));
    }
    assert.deepEqual(await recordOf(t.store), before);
    assert.deepEqual(await t.store.audit({}), []);
  });

  // F144
  test('an answer by hand is stored without what belongs to one connection or one caller', async (t) => {
    const owner = await finished(t.store, 'unknown');
    const own = [
      ['Content-Length', '999'],
      ['Connection', 'x-hop'],
      ['X-Hop', '1'],
      ['Set-Cookie', 'session=1'],
    ] as const;
    const response = { ...ANSWER, headers: [...own, ...ANSWER.headers], trailers: own };
    await t.store.settle([{ ...settleRequest(owner, 'completed'), response }]);
    assert.deepEqual((await recordOf(t.store)).response, ANSWER);
  });

  // F155
  test('what may have happened is forgotten only on the word that nothing did', async (t) => {
    const owner = await finished(t.store, 'unknown');
    await t.advance(2_000);
    assert.equal((await t.store.sweep(10, { unknownMaxMs: 1_000 })).length, 1);
    const given = await recordOf(t.store);
    assert.equal(given.reason, 'outcome-never-known');
    assert.deepEqual(await forgetAsSeen(t.store, owner), [{ kind: 'refused', record: given }]);
    const effect = 'none';
    assert.equal(only(await forgetAsSeen(t.store, owner, { effect })).kind, 'applied');

    const open = await withOpenEffect(t, 'retryable', 'open');
    const record = await recordOf(t.store, open);
    assert.notEqual(record.intentAt, null);
    assert.deepEqual(await forgetAsSeen(t.store, open), [{ kind: 'refused', record }]);
    assert.equal(only(await forgetAsSeen(t.store, open, { effect })).kind, 'applied');

    // Somebody has said so already.
    const settled = await withOpenEffect(t, 'unknown', 'settled');
    await t.store.settle([settleRequest(settled, 'retryable')]);
    assert.equal(only(await forgetAsSeen(t.store, settled)).kind, 'applied');
  });

  // Its finish came late, and under the same fence: what was seen as "nothing happened" has happened by now.
  test('a record that is in another state than was seen is not forgotten', async (t) => {
    const owner = await finished(t.store, 'retryable');
    assert.equal(only(await t.store.finish([finishRequest(owner, 'completed')])).kind, 'applied');
    const record = await recordOf(t.store);
    assert.equal(record.state, 'completed');
    const seen = { ...handRequest(owner), state: 'retryable' } as const;
    assert.deepEqual(await t.store.forget([seen]), [{ kind: 'refused', record }]);
    assert.deepEqual(await recordOf(t.store), record);
    assert.deepEqual(await t.store.forget([{ ...seen, state: 'completed' }]), [{ kind: 'applied' }]);
  });
}

/** A record with an effect that was begun and never ended. */
async function withOpenEffect(
  { store }: StoreUnderTest,
  to: 'unknown' | 'retryable',
  key = ID.key,
): Promise<FencedId> {
  const owner = await claimed(store, { key, whenClaimEnds: 'resume', input: new Uint8Array([1]) });
  const progress = { ...fencedId(owner), claimTtlMs: CLAIM_TTL_MS, recoveryPoint: null, steps: OPEN };
  assert.equal(only(await store.checkpoint([{ ...progress, intentOpen: true }])).kind, 'applied');
  assert.equal(only(await store.finish([finishRequest(owner, to)])).kind, 'applied');
  return owner;
}
