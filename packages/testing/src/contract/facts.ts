/** What a record holds decides, and not what the code that meets it would do (F109, F114). */

import assert from 'node:assert/strict';
import { EFFECT_RULE_CHANGED, PHASES_CHANGED } from 'samekey/internals/core/record';
import type { CheckpointRequest, ClaimRequest, FencedId } from 'samekey/internals/store/store';
import {
  type AddTest,
  CLAIM_TTL_MS,
  claimed,
  claimRequest,
  fencedId,
  finishRequest,
  foundBecause,
  only,
  recordOf,
  settleRequest,
  type StoreUnderTest,
} from './context.ts';

const INPUT = new Uint8Array([0, 255, 254, 128, 1]);
const DUE = { operations: ['POST /payments'], limit: 10 };
const STEPS = '{"v":1,"steps":["charged"]}';
const NO_STEPS = { takesSteps: false } as const;

function checkpoint(owner: FencedId, overrides: Partial<CheckpointRequest> = {}): CheckpointRequest {
  const steps = { recoveryPoint: null, steps: STEPS, intentOpen: false } as const;
  return { ...fencedId(owner), claimTtlMs: CLAIM_TTL_MS, ...steps, ...overrides };
}

/** An attempt that has done something, and ended so that the next may go on. */
const LEFT: Readonly<Record<string, (t: StoreUnderTest, key: string) => Promise<FencedId>>> = {
  async 'an attempt that ended'(t, key) {
    const owner = await claimed(t.store, { key, whenClaimEnds: 'resume', input: INPUT });
    await t.store.checkpoint([checkpoint(owner, { intentOpen: true })]);
    await t.store.finish([finishRequest(owner, 'retryable')]);
    return owner;
  },
  async 'an attempt that never said its end'(t, key) {
    const owner = await claimed(t.store, { key, whenClaimEnds: 'resume', input: INPUT });
    await t.store.checkpoint([checkpoint(owner, { intentOpen: true })]);
    // Where claims are watched and not compared, the watch begins with the first look.
    await foundBecause(t.store, 'in-progress', { key });
    await t.advance(CLAIM_TTL_MS);
    return owner;
  },
};

async function leftToCode(
  t: StoreUnderTest,
  reason: string,
  overrides: Partial<ClaimRequest> = {},
): Promise<FencedId> {
  const owner = await claimed(t.store, { whenClaimEnds: 'resume', input: INPUT, ...overrides });
  await t.store.checkpoint([checkpoint(owner)]);
  assert.equal(only(await t.store.finish([finishRequest(owner, 'unknown', { reason })])).kind, 'applied');
  return owner;
}

export function factTests(test: AddTest): void {
  for (const [what, leave] of Object.entries(LEFT)) {
    // F109
    test(`the steps of ${what} are taken up by nobody who knows none: a request is told unknown, and so is the record`, async (t) => {
      for (const entry of ['run', 'accept'] as const) {
        const owner = await leave(t, entry);
        const input = entry === 'accept' ? INPUT : null;
        const { record } = await foundBecause(t.store, 'unknown', { key: entry, entry, input, ...NO_STEPS });
        assert.deepEqual([record.state, record.reason], ['unknown', PHASES_CHANGED]);
        const stored = await recordOf(t.store, owner);
        assert.deepEqual(fencedId(stored), fencedId(owner), 'no attempt was begun');
        assert.deepEqual([stored.steps, stored.input, stored.proof], [STEPS, INPUT, null]);
        assert.ok(stored.intentAt !== null && stored.reconcileAfter !== null);
        await foundBecause(t.store, 'unknown', { key: entry, ...NO_STEPS });
        const taker = await claimed(t.store, { key: entry });
        assert.equal(taker.attempt, 2);
      }
    });

    // F109
    test(`a worker leaves the steps of ${what} as they are when it knows none, for one that knows them`, async (t) => {
      const owner = await leave(t, 'worker');
      const before = await recordOf(t.store, owner);
      await foundBecause(t.store, 'unknown', { key: 'worker', entry: 'take', ...NO_STEPS });
      assert.deepEqual(await recordOf(t.store, owner), before, 'nothing was written');
      const next = only(await t.store.claim([claimRequest({ key: 'worker', entry: 'take' })]));
      assert.equal(next.kind === 'claimed' && next.resumed?.steps, STEPS);
    });
  }

  for (const reason of [PHASES_CHANGED, EFFECT_RULE_CHANGED]) {
    // F109, F110
    test(`what became unknown for "${reason}" is taken up by code that knows steps, however many attempts there were`, async (t) => {
      await leftToCode(t, reason, { attemptMax: 1 });
      await foundBecause(t.store, 'unknown', NO_STEPS);
      await foundBecause(t.store, 'unknown', { entry: 'accept', input: INPUT });
      const next = only(await t.store.claim([claimRequest({ attemptMax: 1 })]));
      assert.ok(next.kind === 'claimed' && next.attempt === 2);
      assert.deepEqual([next.resumed?.steps, next.resumed?.reason], [STEPS, reason]);
      const { state, input, reconcileAfter } = await recordOf(t.store);
      assert.deepEqual([state, input, reconcileAfter], ['in_progress', INPUT, null]);
    });

    test(`what became unknown for "${reason}" is due for workers, and no more once it was settled`, async (t) => {
      const owner = await leftToCode(t, reason);
      assert.deepEqual(
        (await t.store.due(DUE)).map(({ key, steps }) => [key, steps]),
        [[owner.key, STEPS]],
      );
      assert.deepEqual(await t.store.due({ ...DUE, operations: ['another'] }), []);
      await t.store.settle([settleRequest(owner, 'completed')]);
      assert.deepEqual(await t.store.due(DUE), []);
      await foundBecause(t.store, 'final');
    });
  }

  test('what is unknown for another reason is neither due nor taken up, whoever asks', async (t) => {
    await leftToCode(t, 'effect-unknown');
    assert.deepEqual(await t.store.due(DUE), []);
    await foundBecause(t.store, 'unknown');
    await foundBecause(t.store, 'unknown', { entry: 'take' });
  });

  test('what was left to code is found by workers also when a request that did not know it wrote that', async (t) => {
    await LEFT['an attempt that ended']?.(t, 'left');
    await foundBecause(t.store, 'unknown', { key: 'left', ...NO_STEPS });
    assert.equal((await t.store.due(DUE)).length, 1);
    // A sweep in between takes nothing out of sight.
    await t.store.sweep(10);
    assert.equal((await t.store.due(DUE)).length, 1);
  });

  test('a worker waits longer with each attempt that code did not fit', async (t) => {
    const first = await leftToCode(t, PHASES_CHANGED);
    const second = await claimed(t.store);
    await t.store.finish([finishRequest(second, 'unknown', { reason: PHASES_CHANGED })]);
    assert.notEqual(first.claimId, second.claimId);
    const backoff = { backoffMinMs: 400, backoffMaxMs: 1_000 };
    assert.deepEqual(await t.store.due({ ...DUE, ...backoff }), []);
    await t.advance(400);
    assert.equal((await t.store.due({ ...DUE, ...backoff })).length, 1);
  });

  // What was found out by hand is a fact, too.
  test('the word that nothing happened outlives a request that does not know the steps', async (t) => {
    const owner = await leftToCode(t, 'effect-unknown');
    await t.store.settle([settleRequest(owner, 'retryable')]);
    await foundBecause(t.store, 'unknown', NO_STEPS);
    assert.equal((await recordOf(t.store)).proof, 'settled');
    const next = only(await t.store.claim([claimRequest()]));
    assert.equal(next.kind === 'claimed' && next.resumed?.proof, 'settled');
  });

  test('an owner that ends late counts although a request had left its record to other code', async (t) => {
    const owner = (await LEFT['an attempt that never said its end']?.(t, 'late')) as FencedId;
    await foundBecause(t.store, 'unknown', { key: 'late', ...NO_STEPS });
    const renewed = only(await t.store.renew([{ ...owner, claimTtlMs: CLAIM_TTL_MS }]));
    assert.equal(renewed.kind, 'lost', 'its claim is over');
    // Its word stands beside the one of somebody else, also where both say "unknown".
    const said = finishRequest(owner, 'unknown', { reason: 'said-unknown' });
    assert.equal(only(await t.store.finish([said])).kind, 'applied');
    assert.equal((await recordOf(t.store, owner)).reason, 'said-unknown');
    assert.equal(only(await t.store.finish([finishRequest(owner, 'completed')])).kind, 'applied');
  });

  test('an intent that is written again stays as old as it is, where it is the same', async (t) => {
    const owner = await claimed(t.store, { whenClaimEnds: 'resume', input: INPUT });
    await t.store.checkpoint([checkpoint(owner, { intentOpen: true })]);
    const { intentAt } = await recordOf(t.store);
    assert.ok(intentAt !== null);
    await t.advance(1_000);
    await t.store.checkpoint([checkpoint(owner, { intentOpen: true, isSameIntent: true, steps: '[2]' })]);
    assert.deepEqual(
      [(await recordOf(t.store)).intentAt, (await recordOf(t.store)).steps],
      [intentAt, '[2]'],
    );
    await t.store.checkpoint([checkpoint(owner, { intentOpen: true })]);
    assert.equal((await recordOf(t.store)).intentAt, intentAt + 1_000);
    await t.store.checkpoint([checkpoint(owner, { isSameIntent: true })]);
    assert.equal((await recordOf(t.store)).intentAt, null);
  });

  // F118
  test('of two bounds on attempts the looser counts: neither lower code nor a rollback takes any away', async (t) => {
    for (const [key, first, second] of [
      ['made lower', 3, 1],
      ['made higher', 1, 3],
    ] as const) {
      for (const [attempt, attemptMax] of [first, second, first].entries()) {
        const owner = await claimed(t.store, { key, attemptMax });
        assert.equal(owner.attempt, attempt + 1);
        await t.store.finish([finishRequest(owner, 'retryable')]);
        assert.equal((await recordOf(t.store, owner)).attemptMax, attempt === 0 ? first : 3);
      }
      await foundBecause(t.store, 'exhausted', { key, attemptMax: 1 });
      await foundBecause(t.store, 'exhausted', { key, attemptMax: 9 });
    }
  });

  // F114
  test('what was begun without an input is due once a request has brought one, under the name that it brought', async (t) => {
    const noted = { entry: 'accept', input: INPUT, operation: 'pay', ...NO_STEPS } as const;
    const owner = await claimed(t.store, { key: 'ended' });
    await t.store.finish([finishRequest(owner, 'retryable')]);
    await claimed(t.store, { key: 'over', whenClaimEnds: 'resume' });
    await foundBecause(t.store, 'in-progress', { key: 'over', ...noted });
    assert.equal((await recordOf(t.store, { ...owner, key: 'over' })).input, null, 'somebody runs it');
    await t.advance(CLAIM_TTL_MS);
    assert.deepEqual(await t.store.due({ ...DUE, operations: [...DUE.operations, 'pay'] }), []);
    for (const key of ['ended', 'over']) {
      const { record } = await foundBecause(t.store, 'in-progress', { key, ...noted });
      assert.deepEqual(record.input, INPUT);
    }
    const due = await t.store.due({ ...DUE, operations: ['pay'] });
    assert.deepEqual(due.map(({ key }) => key).toSorted(), ['ended', 'over']);
    // The first input stays.
    await foundBecause(t.store, 'in-progress', { key: 'ended', ...noted, input: new Uint8Array([9]) });
    const next = await claimed(t.store, { key: 'ended', entry: 'take', ...NO_STEPS });
    assert.deepEqual([next.attempt, (await recordOf(t.store, next)).input], [2, INPUT]);
  });

  // F114: else nobody but its client could push it on.
  test('an attempt of code that keeps an input brings one to a record that has none, and changes none that is there', async (t) => {
    const first = await claimed(t.store);
    await t.store.finish([finishRequest(first, 'retryable')]);
    const second = await claimed(t.store, { input: INPUT });
    assert.deepEqual((await recordOf(t.store)).input, INPUT);
    await t.store.finish([finishRequest(second, 'retryable')]);
    assert.equal((await t.store.due(DUE)).length, 1);
    await claimed(t.store, { input: new Uint8Array([9]) });
    assert.deepEqual((await recordOf(t.store)).input, INPUT);
  });

  // F114
  test('a claim that is over and may have had its effect is unknown also to a request that is only noted', async (t) => {
    await claimed(t.store);
    const noted = { entry: 'accept', input: INPUT } as const;
    await foundBecause(t.store, 'in-progress', noted);
    await t.advance(CLAIM_TTL_MS);
    await foundBecause(t.store, 'unknown', noted);
  });

  // F114
  test('a request that runs at once takes what was only noted, once; not what was handed to the worker of a message', async (t) => {
    await t.store.claim([claimRequest({ entry: 'accept', input: INPUT, ...NO_STEPS })]);
    const owner = await claimed(t.store, NO_STEPS);
    assert.equal(owner.attempt, 1);
    await foundBecause(t.store, 'in-progress', { entry: 'take' });
    assert.deepEqual((await recordOf(t.store)).input, INPUT);
    await t.store.claim([
      claimRequest({ key: 'past', entry: 'accept', input: INPUT, pendingTimeMaxMs: 500 }),
    ]);
    await t.advance(500);
    await foundBecause(t.store, 'pending', { key: 'past' });
  });
}
