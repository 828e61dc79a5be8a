/** User transactions on the same data: what `within` writes shares their fate, what is written beside them does not. */

import assert from 'node:assert/strict';
import {
  type AddTest,
  ANSWER,
  claimed,
  claimRequest,
  finishRequest,
  ID,
  only,
  recordOf,
  type StoreUnderTest,
} from './context.ts';

export function transactionTests(test: AddTest): void {
  test('a finish within a transaction is there once it has committed', async (t) => {
    if (!offers(t)) return;
    const owner = await claimed(t.store);
    const value = await t.transaction(async (within) => {
      const result = await within.finish(finishRequest(owner, 'completed'));
      assert.equal(result.kind, 'applied');
      return 'the value';
    });
    assert.equal(value, 'the value');
    assert.deepEqual((await recordOf(t.store)).response, ANSWER);
    assert.equal(only(await t.store.finish([finishRequest(owner, 'completed')])).kind, 'already');
  });

  test('a finish within a transaction that throws never happened, and the throw comes through', async (t) => {
    if (!offers(t)) return;
    const owner = await claimed(t.store);
    const before = await recordOf(t.store);
    const thrown = new Error('out of stock');
    await assert.rejects(
      t.transaction(async (within) => {
        await within.finish(finishRequest(owner, 'completed'));
        throw thrown;
      }),
      (error) => error === thrown,
    );
    assert.deepEqual(await recordOf(t.store), before);
    assert.equal(only(await t.store.finish([finishRequest(owner, 'failed')])).kind, 'applied');
  });

  test('a finish within a transaction with an old fence is refused and changes nothing', async (t) => {
    if (!offers(t)) return;
    await claimed(t.store);
    const record = await recordOf(t.store);
    await t.transaction(async (within) => {
      const result = await within.finish(
        finishRequest({ ...ID, claimId: 'claim-of-somebody-else', attempt: 1 }, 'completed'),
      );
      assert.deepEqual(result, { kind: 'refused', record });
    });
    assert.deepEqual(await recordOf(t.store), record);
  });

  // F64: the claim of one request, acknowledged while another's transaction is open, survives its rollback.
  test('a claim beside a transaction that rolls back survives', async (t) => {
    if (!offers(t)) return;
    const owner = await claimed(t.store, { key: 'theirs' });
    let transaction: Promise<unknown> = Promise.resolve();
    await new Promise<void>((began) => {
      transaction = t.transaction(async (within) => {
        await within.finish(finishRequest(owner, 'completed'));
        began();
        // Time for the claim to be made in, if it can; a store with one connection makes it wait instead.
        await new Promise((resolve) => setTimeout(resolve, 50));
        throw new Error('rolled back');
      });
      transaction.catch(() => undefined);
    });
    const request = claimRequest({ key: 'ours' });
    const claim = t.store.claim([request]);
    const look = t.store.find([owner]);
    await assert.rejects(transaction, /rolled back/);
    assert.equal(only(await claim).kind, 'claimed');
    assert.equal((await recordOf(t.store, { ...ID, key: 'ours' })).claimId, request.claimId);
    // Nor was anything seen of what was never committed.
    assert.equal(only(await look)?.state, 'in_progress');
  });

  test('transactions at the same time all commit', async (t) => {
    if (!offers(t)) return;
    const owners = await Promise.all(
      Array.from({ length: 10 }, (_, i) => claimed(t.store, { key: `parallel-${i}` })),
    );
    await Promise.all(
      owners.map((owner) =>
        t.transaction(async (within) => {
          await new Promise((resolve) => setTimeout(resolve, 1));
          assert.equal((await within.finish(finishRequest(owner, 'completed'))).kind, 'applied');
        }),
      ),
    );
    assert.equal((await t.store.count()).completed, 10);
  });
}

/** Where a store has no transactions, what is tested is that it offers none. */
function offers(t: StoreUnderTest): t is StoreUnderTest & Required<Pick<StoreUnderTest, 'transaction'>> {
  if (t.store.capabilities.transactions) {
    assert.ok(t.transaction !== undefined, 'a store with transactions needs transaction() in its harness');
    return true;
  }
  assert.equal('within' in t.store || 'transaction' in t.store, false);
  return false;
}
