/**
 * References: what leads a webhook to its record (F154). Written by the write that they belong to, gone with the record, and found after its
 * end. A store without them keeps none, and takes checkpoints that bring one all the same.
 */

import assert from 'node:assert/strict';
import { callerScope, encodeScope } from 'samekey/internals/core/scope';
import type { References } from 'samekey/internals/store/references';
import type { CheckpointRequest, FencedId, Store } from 'samekey/internals/store/store';
import {
  type AddTest,
  CLAIM_TTL_MS,
  claimed,
  claimRequest,
  eraseRequest,
  finishRequest,
  handRequest,
  ID,
  only,
  RETENTION_MS,
  recordOf,
  settleRequest,
} from './context.ts';

const OPERATION = 'POST /payments';
const OPEN_STEPS = '{"v":1,"steps":[]}';

/** A checkpoint that stores an intent, with its reference. */
function intent(owner: FencedId, reference: string, effect = 'charge'): CheckpointRequest {
  return {
    ...owner,
    claimTtlMs: CLAIM_TTL_MS,
    recoveryPoint: null,
    steps: OPEN_STEPS,
    intentOpen: true,
    reference: { reference, effect },
  };
}

/** Stores an intent, which must be applied. */
async function intended(store: Store, owner: FencedId, reference: string): Promise<void> {
  assert.equal(only(await store.checkpoint([intent(owner, reference)])).kind, 'applied');
}

/** The same with another checkpoint: the intent has its result. */
async function answered(store: Store, owner: FencedId): Promise<void> {
  const { reference: _reference, ...checkpoint } = intent(owner, '');
  await store.checkpoint([{ ...checkpoint, intentOpen: false }]);
}

export function referenceTests(add: AddTest): void {
  /** With the references of the store; where it has none, checkpoints are taken and nothing more is to be held. */
  const test = (
    title: string,
    body: (t: Parameters<Parameters<AddTest>[1]>[0], references: References) => Promise<void>,
  ): void =>
    add(title, async (t) => {
      if (t.store.references !== undefined) return body(t, t.store.references);
      await intended(t.store, await claimed(t.store), 'r');
      assert.equal((await recordOf(t.store)).steps, OPEN_STEPS);
    });

  // F154
  test('a reference is there with its intent, and leads to the record while it is open and after its end', async ({
    store,
  }, references) => {
    const owner = await claimed(store);
    assert.deepEqual(await references.find(['r'], 10), []);
    await intended(store, owner, 'r');
    const { createdAt } = await recordOf(store);
    const led = { ...ID, operation: OPERATION, createdAt, attempt: 1, effect: 'charge' };
    assert.deepEqual(await references.find(['r'], 10), [led]);
    assert.deepEqual(await references.find(['other'], 10), []);
    assert.deepEqual(await references.find(['other', 'r', 'r'], 10), [led]);
    assert.deepEqual(await references.find([], 10), []);
    await answered(store, owner);
    await store.finish([finishRequest(owner, 'completed')]);
    assert.deepEqual(await references.find(['r'], 10), [led]);
  });

  test('several lead to one record, one leads to several, and at most so many are given', async ({
    store,
  }, references) => {
    for (const key of ['a', 'b', 'c']) {
      const owner = await claimed(store, { key });
      await store.checkpoint([intent(owner, `of ${key}`)]);
      await store.checkpoint([intent(owner, 'shared', 'capture')]);
    }
    assert.deepEqual(
      (await references.find(['of a', 'of c'], 10)).map(({ key, effect }) => `${key} ${effect}`).toSorted(),
      ['a charge', 'c charge'],
    );
    const shared = await references.find(['shared'], 10);
    assert.deepEqual(shared.map(({ key, effect }) => `${key} ${effect}`).toSorted(), [
      'a capture',
      'b capture',
      'c capture',
    ]);
    assert.equal((await references.find(['shared'], 2)).length, 2);
  });

  test('many checkpoints of one call write the references of those that are applied', async ({
    store,
  }, references) => {
    const owners: FencedId[] = [];
    for (const key of ['a', 'b', 'c']) owners.push(await claimed(store, { key }));
    const [a, b, c] = owners as [FencedId, FencedId, FencedId];
    const { reference: _reference, ...plain } = intent(c, '');
    const late = { ...intent(b, 'late'), claimId: 'of nobody' };
    const results = await store.checkpoint([intent(a, 'r'), late, plain]);
    assert.deepEqual(
      results.map(({ kind }) => kind),
      ['applied', 'refused', 'applied'],
    );
    assert.deepEqual(
      (await references.find(['r', 'late', ''], 10)).map(({ key }) => key),
      ['a'],
    );
  });

  test('a reference that is written again is of the attempt that wrote it last', async (t, references) => {
    await intended(t.store, await claimed(t.store, { whenClaimEnds: 'resume' }), 'r');
    await t.advance(CLAIM_TTL_MS);
    const again = await claimed(t.store, { whenClaimEnds: 'resume' });
    assert.equal(again.attempt, 2);
    assert.equal(only(await references.find(['r'], 10)).attempt, 1);
    await t.store.checkpoint([intent(again, 'r', 'capture')]);
    const { attempt, effect } = only(await references.find(['r'], 10));
    assert.deepEqual([attempt, effect], [2, 'capture']);
  });

  test('no reference leads to another life of its key', async (t, references) => {
    const owner = await claimed(t.store);
    await intended(t.store, owner, 'r');
    await answered(t.store, owner);
    await t.store.finish([finishRequest(owner, 'completed')]);
    await t.advance(RETENTION_MS);
    const next = await claimed(t.store);
    assert.deepEqual(await references.find(['r'], 10), []);
    await intended(t.store, next, 's');
    assert.deepEqual(await references.find(['r'], 10), []);
    // A provider may give an id again.
    await intended(t.store, next, 'r');
    for (const reference of ['r', 's']) only(await references.find([reference], 10));
  });

  test('it goes with a record that is reaped', async (t, references) => {
    const owner = await claimed(t.store);
    await intended(t.store, owner, 'r');
    await answered(t.store, owner);
    await t.store.finish([finishRequest(owner, 'completed')]);
    await t.advance(RETENTION_MS);
    assert.equal((await references.find(['r'], 10)).length, 1);
    assert.equal((await t.store.reap(10)).count, 1);
    assert.deepEqual(await references.find(['r'], 10), []);
  });

  test('it goes with what a record holds that is erased, and stays with what is not', async ({
    store,
  }, references) => {
    const scope = encodeScope(['tenant-1', 'ada'], OPERATION);
    const ended = await claimed(store, { scope, key: 'ended' });
    const open = await claimed(store, { scope, key: 'open' });
    const other = await claimed(store, { key: 'of another' });
    for (const owner of [ended, open, other]) await intended(store, owner, 'r');
    await answered(store, ended);
    await store.finish([finishRequest(ended, 'completed')]);
    assert.deepEqual(await store.erase(eraseRequest(callerScope(['tenant-1', 'ada']))), {
      erased: 1,
      left: 1,
    });
    assert.deepEqual((await references.find(['r'], 10)).map(({ key }) => key).toSorted(), [
      'of another',
      'open',
    ]);
  });

  test('it leads nowhere once its record is forgotten', async (t, references) => {
    const replayable = await claimed(t.store, { key: 'replayable' });
    const retryable = await claimed(t.store, { key: 'retryable' });
    for (const owner of [replayable, retryable]) {
      await intended(t.store, owner, `of ${owner.key}`);
      await answered(t.store, owner);
    }
    await t.store.finish([finishRequest(replayable, 'completed'), finishRequest(retryable, 'retryable')]);
    const results = await t.store.forget([
      { ...handRequest(replayable), state: 'completed' },
      { ...handRequest(retryable), state: 'retryable' },
    ]);
    assert.deepEqual(
      results.map(({ kind }) => kind),
      ['applied', 'applied'],
    );
    assert.deepEqual(await references.find(['of replayable', 'of retryable'], 10), []);
  });

  test('calls under way are those with an open intent of the operations asked about, until they are settled', async ({
    store,
  }, references) => {
    const calling = await claimed(store, { key: 'calling' });
    await store.checkpoint([intent(calling, 'r')]);
    const refund = await claimed(store, { key: 'refund', operation: 'refund' });
    await store.checkpoint([intent(refund, 's')]);
    // Neither a call of an outside, nor one that has ended.
    await claimed(store, { key: 'plain' });
    const done = await claimed(store, { key: 'done' });
    await store.checkpoint([intent(done, 't')]);
    await answered(store, done);
    const keys = async (operations: readonly string[], limit = 10): Promise<readonly string[]> =>
      (await references.underWay(operations, limit)).map(({ key, state }) => `${key} ${state}`).toSorted();
    assert.deepEqual(await keys([OPERATION]), ['calling in_progress']);
    assert.deepEqual(await keys([OPERATION, 'refund']), ['calling in_progress', 'refund in_progress']);
    assert.equal((await keys([OPERATION, 'refund'], 1)).length, 1);
    assert.deepEqual(await keys([]), []);
    await store.finish([finishRequest(calling, 'unknown')]);
    const record = await recordOf(store, calling);
    assert.deepEqual(only(await references.underWay([OPERATION], 10)), {
      scope: ID.scope,
      key: 'calling',
      operation: OPERATION,
      state: 'unknown',
      claimId: calling.claimId,
      lockedUntil: record.lockedUntil,
      steps: OPEN_STEPS,
    });
    await store.settle([settleRequest(calling, 'completed')]);
    assert.deepEqual(await keys([OPERATION]), []);
  });

  test('ways that store no intent leave no reference', async ({ store }, references) => {
    const owner = await claimed(store);
    await store.checkpoint([
      { ...owner, claimTtlMs: CLAIM_TTL_MS, recoveryPoint: 'p', steps: OPEN_STEPS, intentOpen: false },
    ]);
    await store.finish([finishRequest(owner, 'completed')]);
    await store.claim([claimRequest({ key: 'b' })]);
    assert.deepEqual(await references.underWay([OPERATION], 10), []);
    assert.deepEqual(await references.find(['', 'undefined', 'null'], 10), []);
  });
}
