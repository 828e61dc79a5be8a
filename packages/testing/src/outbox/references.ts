/** References of handed-over messages (F154): written with the message and with the note of the provider's id, and of nobody's messages none. */

import assert from 'node:assert/strict';
import {
  type AddOutboxTest,
  claimOf,
  endOf,
  LEASE_MS,
  message,
  type OutboxUnderTest,
  takeOne,
} from './bench.ts';
import type { FencedId } from 'samekey/internals/store/store';

/** Claims and hands over with a message that brings the reference; `isCommitted` false: it is rolled back. */
async function handOver(t: OutboxUnderTest, key: string, isCommitted = true): Promise<FencedId> {
  const owner = { scope: 'tenant-1/mail', key, claimId: `claim-${key}`, attempt: 1 };
  const [claim] = await t.store.claim([claimOf(owner)]);
  assert.equal(claim?.kind, 'claimed');
  const committing = t.transaction(async (within) => {
    await within.enqueue([message({ id: `of-${key}`, owner, reference: `sent ${key}` })]);
    assert.equal((await within.handOver(owner)).kind, 'applied');
    if (!isCommitted) throw new Error('rolled back');
  });
  await committing.catch((error: unknown) => {
    if (isCommitted) throw error;
  });
  return owner;
}

export function outboxReferenceTests(test: AddOutboxTest): void {
  test('references of a message and of a note lead to its owner’s record, also when the message is gone', async (t) => {
    const { messages, references } = t.store;
    const owner = await handOver(t, 'k');
    const taken = await takeOne(messages);
    const note = { ...taken, providerId: 'p-1', reference: 'noted' };
    assert.deepEqual(await messages.note([note]), ['applied']);
    assert.deepEqual(await messages.note([{ ...note, leaseId: 'of another', reference: 'late' }]), ['lost']);
    assert.deepEqual(await messages.done([{ ...taken, record: endOf(owner) }]), ['applied']);
    if (references === undefined) return;
    const { scope, key } = owner;
    const record = (await t.store.find([owner]))[0];
    for (const reference of ['sent k', 'noted']) {
      assert.deepEqual(await references.find([reference], 10), [
        { scope, key, operation: 'mail', createdAt: record?.createdAt, attempt: 1, effect: null },
      ]);
    }
    assert.deepEqual(await references.find(['late'], 10), []);
  });

  test('what is rolled back leaves no reference, and nobody’s message none', async (t) => {
    const { messages, references } = t.store;
    await handOver(t, 'k', false);
    await messages.enqueue([message({ id: 'alone' })]);
    const taken = await takeOne(messages);
    assert.deepEqual(await messages.note([{ ...taken, providerId: 'p-1' }]), ['applied']);
    assert.deepEqual((await references?.find(['sent k', 'undefined', ''], 10)) ?? [], []);
  });

  test('a note that comes after its owner’s record has ended leads to no later life of the key', async (t) => {
    const { messages, references } = t.store;
    const owner = await handOver(t, 'k');
    const taken = await takeOne(messages);
    assert.equal((await t.store.finish([endOf(owner)]))[0]?.kind, 'applied');
    await t.advance(claimOf(owner).retentionMs + 1);
    const [next] = await t.store.claim([claimOf({ ...owner, claimId: 'claim of a later life' })]);
    assert.equal(next?.kind, 'claimed');
    await messages.note([{ ...taken, providerId: 'p-1', reference: 'noted' }]);
    assert.deepEqual((await references?.find(['noted', 'sent k'], 10)) ?? [], []);
  });

  test('a delivery without a noted id is under way while its lease is, and its record waits for it', async (t) => {
    const { messages, references } = t.store;
    await handOver(t, 'k');
    const keys = async (operation = 'mail'): Promise<readonly string[]> =>
      ((await references?.underWay([operation], 10)) ?? []).map(({ key, state }) => `${key} ${state}`);
    assert.deepEqual(await keys(), []);
    const taken = await takeOne(messages);
    if (references === undefined) return;
    assert.deepEqual(await keys(), ['k pending']);
    assert.deepEqual(
      (await references.underWay(['mail'], 10)).map(({ claimId }) => claimId),
      [taken.leaseId],
    );
    assert.deepEqual(await keys('refund'), []);
    await messages.note([{ ...taken, providerId: 'p-1', reference: 'noted' }]);
    assert.deepEqual(await keys(), []);
    await messages.extend([taken], LEASE_MS);
    assert.equal((await references.find(['noted'], 10)).length, 1);
  });
}
