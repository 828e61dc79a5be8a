/** What a reconciler needs of `settle`: the store's clock in the condition of "no effect", and the result of an open effect. */

import assert from 'node:assert/strict';
import {
  type AddTest,
  CLAIM_TTL_MS,
  claimed,
  claimRequest,
  fencedId,
  finishRequest,
  only,
  RETENTION_MS,
  recordOf,
  settleRequest,
} from './context.ts';

const OPEN = '{"v":1,"steps":[{"kind":"effect","name":"charge","input":"d","done":null}]}';
const DONE = '{"v":1,"steps":[{"kind":"effect","name":"charge","input":"d","done":{"result":"ch_1"}}]}';

export function verdictTests(test: AddTest): void {
  // F61: a call may be under way that nobody sees yet.
  test('"no effect" is refused until the claim has been over for as long as a call takes, by the store\'s clock', async (t) => {
    const owner = await claimed(t.store);
    await t.store.finish([finishRequest(owner, 'unknown')]);
    const request = { ...settleRequest(owner, 'retryable'), claimEndedForMs: 5_000 };
    await t.advance(4_999);
    const before = await recordOf(t.store);
    assert.deepEqual(await t.store.settle([request]), [{ kind: 'refused', record: before }]);
    assert.deepEqual(await recordOf(t.store), before);
    assert.deepEqual(await t.store.audit({}), []);
    await t.advance(1);
    assert.equal(only(await t.store.settle([request])).kind, 'applied');
    assert.equal(only(await t.store.settle([request])).kind, 'already');
    assert.equal((await claimed(t.store)).attempt, 2);
  });

  // F21: what a provider has forgotten it does not find.
  test("a word that has grown too old is refused, by the store's clock", async (t) => {
    const owner = await claimed(t.store);
    await t.store.finish([finishRequest(owner, 'unknown')]);
    const { lockedUntil } = await recordOf(t.store);
    const request = { ...settleRequest(owner, 'retryable'), notAfter: lockedUntil + 5_000 };
    await t.advance(5_001);
    assert.equal(only(await t.store.settle([request])).kind, 'refused');
    assert.equal((await recordOf(t.store)).state, 'unknown');
    const later = { ...request, notAfter: lockedUntil + 10_000 };
    assert.equal(only(await t.store.settle([later])).kind, 'applied');
  });

  test('where the owner said nothing it counts from the end of its claim, not from when somebody found it over', async (t) => {
    const owner = await claimed(t.store);
    await t.advance(CLAIM_TTL_MS);
    await t.store.sweep(10);
    await t.advance(CLAIM_TTL_MS);
    await t.store.sweep(10);
    assert.equal((await recordOf(t.store)).state, 'unknown');
    const request = { ...settleRequest(owner, 'retryable'), claimEndedForMs: 5 * CLAIM_TTL_MS };
    assert.equal(only(await t.store.settle([request])).kind, 'refused');
    await t.advance(5 * CLAIM_TTL_MS);
    assert.equal(only(await t.store.settle([request])).kind, 'applied');
  });

  test('a process that has just begun, with a clock that is behind, settles what another one did not know', async (t) => {
    if (t.another === undefined) return;
    const owner = await claimed(t.store);
    // Less than a store without a clock moves the time of all on for.
    await t.advance(900);
    await t.store.finish([finishRequest(owner, 'unknown')]);
    const newcomer = await t.another({ wallOffsetMs: -3_600_000 });
    assert.deepEqual(await newcomer.settle([settleRequest(owner, 'retryable')]), [{ kind: 'applied' }]);
    assert.equal((await claimed(newcomer)).attempt, 2);
  });

  test('what may run again runs at once, also in a process whose clock is behind', async (t) => {
    if (t.another === undefined) return;
    const owner = await claimed(t.store);
    await t.advance(900);
    await t.store.finish([finishRequest(owner, 'retryable', { proof: 'declared' })]);
    const newcomer = await t.another({ wallOffsetMs: -3_600_000 });
    assert.equal((await claimed(newcomer)).attempt, 2);
  });

  test('settled with the result of its open effect, the next attempt gets it, and nothing is open any more', async (t) => {
    const owner = await claimed(t.store, { whenClaimEnds: 'resume', input: new Uint8Array([1]) });
    const checkpoint = { ...fencedId(owner), claimTtlMs: CLAIM_TTL_MS, recoveryPoint: null, steps: OPEN };
    await t.store.checkpoint([{ ...checkpoint, intentOpen: true }]);
    await t.store.finish([finishRequest(owner, 'unknown')]);
    const open = await recordOf(t.store);
    assert.notEqual(open.intentAt, null);
    await t.store.settle([{ ...settleRequest(owner, 'retryable'), newSteps: DONE }]);
    const settled = await recordOf(t.store);
    assert.deepEqual([settled.state, settled.steps, settled.intentAt], ['retryable', DONE, null]);
    const next = only(await t.store.claim([claimRequest()]));
    assert.equal(next.kind === 'claimed' && next.resumed?.steps, DONE);
  });

  // The reply to "unknown" was lost, a webhook has settled the effect meanwhile, and the owner says it again.
  test('what was settled with the result of its open effect stands when its owner says again that it does not know', async (t) => {
    const owner = await claimed(t.store, { whenClaimEnds: 'resume', input: new Uint8Array([1]) });
    const checkpoint = { ...fencedId(owner), claimTtlMs: CLAIM_TTL_MS, recoveryPoint: null, steps: OPEN };
    await t.store.checkpoint([{ ...checkpoint, intentOpen: true }]);
    await t.store.finish([finishRequest(owner, 'unknown')]);
    await t.store.settle([{ ...settleRequest(owner, 'retryable'), newSteps: DONE }]);
    const settled = await recordOf(t.store);
    const late = only(await t.store.finish([finishRequest(owner, 'unknown')]));
    assert.deepEqual(late, { kind: 'refused', record: settled });
    assert.deepEqual(await recordOf(t.store), settled);
    // One that knows has an answer.
    const known = only(await t.store.finish([finishRequest(owner, 'completed')]));
    assert.equal(known.kind, 'applied');
  });

  test('settled without one, its effect stays open and its record does not expire', async (t) => {
    const owner = await claimed(t.store, { whenClaimEnds: 'resume', input: new Uint8Array([1]) });
    const checkpoint = { ...fencedId(owner), claimTtlMs: CLAIM_TTL_MS, recoveryPoint: null, steps: OPEN };
    await t.store.checkpoint([{ ...checkpoint, intentOpen: true }]);
    await t.store.finish([finishRequest(owner, 'unknown')]);
    await t.store.settle([settleRequest(owner, 'retryable')]);
    await t.advance(3 * RETENTION_MS);
    const { steps, intentAt } = await recordOf(t.store);
    assert.equal(steps, OPEN);
    assert.notEqual(intentAt, null);
    assert.equal((await t.store.reap(10)).count, 0);
  });
}
