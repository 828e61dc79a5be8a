/** What phased and deferred operations need of a store: steps, open intents, inputs, and work that waits for a worker. */

import assert from 'node:assert/strict';
import { EXHAUSTED, NEVER_STARTED } from 'samekey/internals/store/machine/index';
import { compareDue, type SamekeyRecord } from 'samekey/internals/core/record';
import type { CheckpointRequest, FencedId } from 'samekey/internals/store/store';
import {
  type AddTest,
  ANSWER,
  CLAIM_TTL_MS,
  claimed,
  claimRequest,
  fencedId,
  finishRequest,
  foundBecause,
  ID,
  only,
  RETENTION_MS,
  recordOf,
} from './context.ts';

const INPUT = new Uint8Array([0, 255, 254, 128, 1]);
const OPERATION = 'POST /payments';
const DUE = { operations: [OPERATION], limit: 10 };

function checkpoint(owner: FencedId, overrides: Partial<CheckpointRequest> = {}): CheckpointRequest {
  return {
    ...fencedId(owner),
    claimTtlMs: CLAIM_TTL_MS,
    recoveryPoint: 'reserve',
    steps: '{"v":1,"steps":["\\u0000 \u{1f511} \\\\"]}',
    intentOpen: false,
    ...overrides,
  };
}

export function progressTests(test: AddTest): void {
  test('a checkpoint keeps the steps to the byte, renews the claim, and the next attempt gets them', async (t) => {
    const owner = await claimed(t.store, { whenClaimEnds: 'resume', input: INPUT });
    await t.advance(CLAIM_TTL_MS - 1);
    const request = checkpoint(owner);
    assert.deepEqual(await t.store.checkpoint([request]), [{ kind: 'applied' }]);
    await t.advance(CLAIM_TTL_MS - 1);
    await foundBecause(t.store, 'in-progress');
    const record = await recordOf(t.store);
    assert.equal(record.steps, request.steps);
    assert.equal(record.recoveryPoint, 'reserve');
    assert.deepEqual(record.input, INPUT);
    assert.equal(only(await t.store.finish([finishRequest(owner, 'retryable')])).kind, 'applied');
    const next = only(await t.store.claim([claimRequest()]));
    assert.equal(next.kind === 'claimed' && next.resumed?.steps, request.steps);
    assert.deepEqual((await recordOf(t.store)).input, INPUT);
  });

  // F76: what was taken back leaves nothing that the next claim could take for work that is done.
  test('a checkpoint without steps leaves none, and a record whose attempts are used up then fails', async (t) => {
    const owner = await claimed(t.store, { whenClaimEnds: 'resume', attemptMax: 1 });
    await t.store.checkpoint([checkpoint(owner, { recoveryPoint: null, intentOpen: true })]);
    const empty = checkpoint(owner, { recoveryPoint: null, steps: null });
    assert.deepEqual(await t.store.checkpoint([empty]), [{ kind: 'applied' }]);
    const { steps, intentAt } = await recordOf(t.store);
    assert.deepEqual([steps, intentAt], [null, null]);
    await t.store.finish([finishRequest(owner, 'retryable')]);
    await foundBecause(t.store, 'exhausted', { attemptMax: 1 });
    assert.equal((await recordOf(t.store)).state, 'failed');
  });

  test('a checkpoint made upon another count of renewals is refused with the record and changes nothing', async (t) => {
    const owner = await claimed(t.store);
    const first = checkpoint(owner, { renewals: 0, steps: '[1]' });
    assert.deepEqual(await t.store.checkpoint([first]), [{ kind: 'applied' }]);
    assert.deepEqual(await t.store.checkpoint([checkpoint(owner, { renewals: 1, steps: '[1,2]' })]), [
      { kind: 'applied' },
    ]);
    const before = await recordOf(t.store);
    // It was sent first, and comes once more, late.
    assert.deepEqual(await t.store.checkpoint([first]), [{ kind: 'refused', record: before }]);
    assert.deepEqual(await recordOf(t.store), before);
    assert.equal(before.renewals, 2);
    assert.deepEqual(await t.store.checkpoint([checkpoint(owner, { renewals: 2, steps: '[1,2,3]' })]), [
      { kind: 'applied' },
    ]);
  });

  // F6: every write carries its fence.
  test('a checkpoint of an old owner is refused and changes nothing', async (t) => {
    const owner = await claimed(t.store);
    await t.store.finish([finishRequest(owner, 'retryable')]);
    await claimed(t.store);
    const before = await recordOf(t.store);
    assert.deepEqual(await t.store.checkpoint([checkpoint(owner)]), [{ kind: 'refused', record: before }]);
    assert.deepEqual(await recordOf(t.store), before);
  });

  test('an intent without a result tells its age, and its record neither expires nor is reaped', async (t) => {
    const owner = await claimed(t.store, { whenClaimEnds: 'resume', input: INPUT });
    await t.store.checkpoint([checkpoint(owner, { intentOpen: true })]);
    await t.store.finish([finishRequest(owner, 'retryable')]);
    await t.advance(3 * RETENTION_MS);
    assert.equal((await t.store.reap(10)).count, 0);
    assert.equal((await t.store.due(DUE)).length, 1);
    const next = only(await t.store.claim([claimRequest()]));
    assert.equal(next.kind === 'claimed' && next.attempt, 2);
    const age = next.kind === 'claimed' ? (next.resumed?.intentAgeMs ?? 0) : 0;
    assert.ok(age >= 3 * RETENTION_MS, `the intent is ${age} ms old`);
    const again = { ...ID, claimId: (await recordOf(t.store)).claimId, attempt: 2 };
    await t.store.checkpoint([checkpoint(again)]);
    await t.store.finish([finishRequest(again, 'completed')]);
    assert.equal((await recordOf(t.store)).intentAt, null);
    await t.advance(3 * RETENTION_MS);
    assert.equal((await t.store.reap(10)).count, 1);
  });

  for (const [what, intentOpen] of [
    ['an open intent', true],
    ['something done', false],
  ] as const) {
    test(`attempts used up with ${what} end as unknown: somebody must look`, async (t) => {
      const owner = await claimed(t.store, { whenClaimEnds: 'resume', attemptMax: 1 });
      await t.store.checkpoint([checkpoint(owner, { intentOpen })]);
      await t.store.finish([finishRequest(owner, 'retryable', { proof: 'policy' })]);
      await foundBecause(t.store, 'unknown', { attemptMax: 1 });
      const { state, reason } = await recordOf(t.store);
      assert.deepEqual([state, reason], ['unknown', EXHAUSTED]);
    });
  }

  test('what is only noted is pending, is met as such, and a worker may take it', async (t) => {
    const accept = claimRequest({ entry: 'accept', input: INPUT });
    assert.equal(only(await t.store.claim([accept])).kind, 'accepted');
    // F15: its reply was lost.
    assert.equal(only(await t.store.claim([accept])).kind, 'accepted');
    await foundBecause(t.store, 'pending', { entry: 'accept', input: INPUT });
    await foundBecause(t.store, 'mismatch', { fingerprint: { label: 'v1/sha256', digest: 'other' } });
    const [due] = await t.store.due(DUE);
    assert.deepEqual(due, await recordOf(t.store));
    assert.equal(due?.attempt, 0);
    const worker = claimRequest({ entry: 'take' });
    const taken = only(await t.store.claim([worker]));
    assert.equal(taken.kind === 'claimed' && taken.attempt, 1);
    assert.equal(taken.kind === 'claimed' ? taken.resumed : undefined, null);
    assert.deepEqual((await recordOf(t.store)).input, INPUT);
    assert.deepEqual(await t.store.due(DUE), []);
    await foundBecause(t.store, 'in-progress', { entry: 'accept', input: INPUT });
    await foundBecause(t.store, 'in-progress', { entry: 'take' });
  });

  test('what nobody takes by its deadline fails with 408, and is not due any more', async (t) => {
    await t.store.claim([claimRequest({ entry: 'accept', input: INPUT, pendingTimeMaxMs: 500 })]);
    await t.advance(499);
    assert.deepEqual(await t.store.sweep(10), []);
    await t.advance(1);
    assert.deepEqual(await t.store.due(DUE), []);
    await foundBecause(t.store, 'pending', { entry: 'take' });
    assert.deepEqual(
      (await t.store.sweep(10)).map(({ to }) => to),
      ['failed'],
    );
    const record = await recordOf(t.store);
    assert.equal(record.reason, NEVER_STARTED);
    assert.equal(record.response?.status, 408);
    await foundBecause(t.store, 'final');
  });

  test('what a dead worker left is due again once it is swept; other operations, and those without input, are not', async (t) => {
    for (const [key, overrides] of [
      ['kept', { input: INPUT }],
      ['no-input', {}],
      ['other-name', { input: INPUT, operation: 'POST /refunds' }],
    ] as const) {
      await claimed(t.store, { key, whenClaimEnds: 'resume', ...overrides });
    }
    // Where claims are watched and not compared, the first sweep begins the watch.
    await t.store.sweep(10);
    await t.advance(CLAIM_TTL_MS);
    assert.deepEqual(await t.store.due(DUE), []);
    await t.store.sweep(10);
    assert.deepEqual(
      (await t.store.due(DUE)).map(({ key }) => key),
      ['kept'],
    );
    assert.deepEqual(await t.store.due({ operations: [], limit: 10 }), []);
  });

  // F149: whoever cannot read the first thousand must get past them.
  test('what is due comes in one order, page by page, also what was noted in the same moment', async (t) => {
    const keys = ['b', 'a', '~', 'B', 'a b', 'c'];
    await t.store.claim(keys.map((key) => claimRequest({ key, entry: 'accept', input: INPUT })));
    await t.advance(1);
    await t.store.claim([claimRequest({ key: '0', entry: 'accept', input: INPUT })]);
    const paged: SamekeyRecord[] = [];
    for (;;) {
      const page = await t.store.due({ ...DUE, limit: 2, after: paged.at(-1) ?? null });
      if (page.length === 0) break;
      assert.ok(page.length <= 2);
      paged.push(...page);
    }
    assert.deepEqual(paged, paged.toSorted(compareDue));
    assert.deepEqual(paged.map(({ key }) => key).toSorted(), ['0', ...keys].toSorted());
    assert.equal(paged.at(-1)?.key, '0');
    assert.deepEqual(paged, await t.store.due({ ...DUE, limit: 100 }));
  });

  test('what was declared correctable waits for its client, and then keeps the corrected input', async (t) => {
    const correctable = { proof: 'declared', unbindFingerprint: true } as const;
    const owner = await claimed(t.store, { whenClaimEnds: 'resume', input: INPUT });
    await t.store.finish([finishRequest(owner, 'retryable', correctable)]);
    assert.deepEqual(await t.store.due(DUE), []);
    const corrected = {
      input: new Uint8Array([9]),
      fingerprint: { label: 'v1/sha256', digest: 'corrected' },
    };
    const next = await claimed(t.store, { whenClaimEnds: 'resume', ...corrected });
    assert.deepEqual((await recordOf(t.store)).input, corrected.input);
    await t.store.finish([finishRequest(next, 'retryable', correctable)]);
    // Only noted this time: as if it were new, because nothing of it has happened.
    const accept = claimRequest({ entry: 'accept', input: INPUT });
    assert.equal(only(await t.store.claim([accept])).kind, 'accepted');
    const noted = await recordOf(t.store);
    assert.deepEqual([noted.state, noted.attempt, noted.input], ['pending', 0, INPUT]);
    assert.equal((await t.store.due(DUE)).length, 1);
  });

  test('a worker leaves alone for a while what has failed more than once, twice as long each time, not what was settled', async (t) => {
    const due = async (): Promise<number> =>
      (await t.store.due({ ...DUE, backoffMinMs: 400, backoffMaxMs: 1_000 })).length;
    for (const pauseMs of [0, 400, 800, 1_000, 1_000]) {
      const owner = await claimed(t.store, { whenClaimEnds: 'resume', input: INPUT });
      await t.store.finish([finishRequest(owner, 'retryable', { proof: 'policy' })]);
      assert.equal((await t.store.due(DUE)).length, 1);
      if (pauseMs > 0) {
        assert.equal(await due(), 0);
        await t.advance(pauseMs - 1);
        assert.equal(await due(), 0);
        await t.advance(1);
      }
      assert.equal(await due(), 1);
    }
    const owner = await claimed(t.store, { whenClaimEnds: 'resume', input: INPUT });
    await t.store.finish([finishRequest(owner, 'unknown')]);
    const settled = { ...owner, to: 'retryable', reason: 'asked', actor: null, response: null } as const;
    assert.equal(only(await t.store.settle([settled])).kind, 'applied');
    assert.equal(await due(), 1);
  });

  test('an attempt handed over within a transaction is finished by the worker alone', async (t) => {
    if (t.transaction === undefined) {
      assert.equal(t.store.capabilities.transactions, false);
      return;
    }
    // With an input, as what workers push on has one: it is not theirs all the same.
    const owner = await claimed(t.store, { whenClaimEnds: 'resume', input: INPUT });
    await assert.rejects(
      t.transaction(async (within) => {
        assert.equal((await within.handOver(fencedId(owner))).kind, 'applied');
        throw new Error('rolled back');
      }),
    );
    assert.equal((await recordOf(t.store)).state, 'in_progress');
    await t.transaction(async (within) => {
      assert.equal((await within.handOver(fencedId(owner))).kind, 'applied');
    });
    assert.equal((await recordOf(t.store)).state, 'pending');
    await t.advance(3 * RETENTION_MS);
    assert.deepEqual(await t.store.sweep(10), []);
    assert.equal((await t.store.reap(10)).count, 0);
    assert.deepEqual(await t.store.due(DUE), []);
    await foundBecause(t.store, 'pending', { entry: 'take' });
    // Its owner has given it away.
    assert.equal(only(await t.store.finish([finishRequest(owner, 'completed')])).kind, 'refused');
    const done = finishRequest(owner, 'completed', { handedOver: true });
    assert.equal(only(await t.store.finish([done])).kind, 'applied');
    assert.equal(only(await t.store.finish([done])).kind, 'already');
    assert.deepEqual((await recordOf(t.store)).response, ANSWER);
  });

  test('a checkpoint within a transaction shares its fate', async (t) => {
    if (t.transaction === undefined) {
      assert.equal(t.store.capabilities.transactions, false);
      return;
    }
    const owner = await claimed(t.store);
    await assert.rejects(
      t.transaction(async (within) => {
        assert.equal((await within.checkpoint(checkpoint(owner))).kind, 'applied');
        throw new Error('rolled back');
      }),
    );
    assert.equal((await recordOf(t.store)).steps, null);
    await t.transaction(async (within) => {
      assert.equal((await within.checkpoint(checkpoint(owner))).kind, 'applied');
    });
    assert.equal((await recordOf(t.store)).recoveryPoint, 'reserve');
  });
}
