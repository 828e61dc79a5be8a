/** Messages and what they belong to: transactions, groups, records that were handed over. */

import assert from 'node:assert/strict';
import { REOPEN_DELAY_MS } from 'samekey/internals/core/record';
import type { TakenMessage } from 'samekey/internals/store/message';
import { ANSWER, forgetAsSeen } from '../contract/context.ts';
import {
  type AddOutboxTest,
  claimOf,
  endOf,
  failed,
  given,
  handedOver,
  LEASE_MS,
  look,
  message,
  stateOf,
  take,
  takeOne,
} from './bench.ts';

/** Adds the tests. */
export function togetherTests(test: AddOutboxTest): void {
  test('a message stands or falls with its transaction', async (t) => {
    const { messages } = t.store;
    const fails = t.transaction(async (within) => {
      await within.enqueue([message()]);
      throw new Error('no');
    });
    await assert.rejects(fails, /no/);
    assert.deepEqual(await take(messages), []);
    await t.transaction(async (within) => within.enqueue([message(), message({ group: 'g' })]));
    assert.equal((await take(messages)).length, 2);
  });

  // F46
  test('a delay counts from its statement, not from the start of its transaction', async (t) => {
    const { messages } = t.store;
    await t.transaction(async (within) => {
      await within.enqueue([message({ topic: 'other' })]);
      await t.advance(60_000);
      await within.enqueue([message({ delayMs: 10_000 })]);
    });
    await t.advance(9_999);
    assert.deepEqual(await take(messages), []);
    await t.advance(1);
    assert.equal((await take(messages)).length, 1);
  });

  test('the messages of a record are listed, and no others', async (t) => {
    const { messages } = t.store;
    const owner = await handedOver(t, 'k1');
    await handedOver(t, 'k2');
    await messages.enqueue([message()]);
    assert.deepEqual(
      (await messages.list({ owner })).map(({ id }) => id),
      ['of-k1'],
    );
    assert.deepEqual(await messages.list({ owner, states: ['dead'] }), []);
    assert.deepEqual(await messages.list({ owner: { ...owner, scope: 'another' } }), []);
  });

  // F51
  test('of more messages than a take gets, each is delivered once', async ({ store: { messages } }) => {
    const sent = Array.from({ length: 137 }, (_, i) => message({ delayMs: i % 3 === 0 ? 0 : 1 }));
    await messages.enqueue(sent.toReversed());
    const got: string[] = [];
    for (let limit = 1; ; limit = (limit % 20) + 1) {
      const taken = await take(messages, { limit });
      if (taken.length === 0 && limit > 1) break;
      got.push(...taken.map(({ id }) => id));
      await messages.done(taken.map((each) => ({ ...each, record: null })));
    }
    const now = sent.filter(({ delayMs }) => delayMs === 0);
    assert.deepEqual(got.toSorted(), now.map(({ id }) => id).toSorted());
  });

  test('a group goes one after the other, in order; others pass by', async (t) => {
    const { messages } = t.store;
    const [a, b, c] = [message({ group: 'g' }), message({ group: 'g' }), message({ group: 'g' })];
    const alone = message();
    await messages.enqueue([a, b]);
    await messages.enqueue([c, alone]);
    const taken = await take(messages);
    assert.deepEqual(taken.map(({ id }) => id).toSorted(), [a.id, alone.id].toSorted());
    const first = taken.find(({ id }) => id === a.id);
    assert.ok(first);
    assert.deepEqual(await take(messages), []);
    // The one ahead waits for its next try: so do all behind it.
    await messages.retry([failed(first, { delayMs: 5_000 })]);
    assert.deepEqual(await take(messages), []);
    await t.advance(5_000);
    const again = await takeOne(messages);
    assert.equal(again.id, a.id);
    await messages.done([{ ...again, record: null }]);
    const second = await takeOne(messages);
    assert.equal(second.id, b.id);
    await messages.dead([given(second)]);
    const third = await takeOne(messages);
    assert.equal(third.id, c.id);
    // A dead letter that comes back comes last.
    const d = message({ group: 'g' });
    await messages.enqueue([d]);
    assert.deepEqual(await messages.requeue([b.id], { reason: 'mended', actor: 'operator-1' }), [b.id]);
    await messages.done([{ ...third, record: null }]);
    const fourth = await takeOne(messages);
    assert.equal(fourth.id, d.id);
    await messages.done([{ ...fourth, record: null }]);
    assert.equal((await takeOne(messages)).id, b.id);
  });

  // F149
  test('a long group is not met message by message: what stands behind it in the line is taken soon', async (t) => {
    const { messages } = t.store;
    const [first, second] = [message({ group: 'long' }), message({ group: 'long' })];
    const long = Array.from({ length: 1_500 }, () => message({ group: 'long' }));
    await messages.enqueue([first, second, ...long]);
    await t.advance(1);
    const [other, alone] = [message({ group: 'other' }), message()];
    await messages.enqueue([other, alone]);
    const taken: TakenMessage[] = [];
    for (let takes = 0; takes < 6 && taken.length < 3; takes += 1)
      taken.push(...(await take(messages, { limit: 10 })));
    const [head] = taken;
    assert.ok(head);
    assert.deepEqual(
      taken.map(({ id }) => id),
      [first.id, other.id, alone.id],
    );
    // And the long one still goes in order.
    await messages.done([{ ...head, record: null }]);
    assert.deepEqual(
      (await take(messages, { limit: 10 })).map(({ id }) => id),
      [second.id],
    );
  });

  test('a worker that died holds its group until its lease ends, no longer', async (t) => {
    const { messages } = t.store;
    const [a, b] = [message({ group: 'g' }), message({ group: 'g' })];
    await messages.enqueue([a, b]);
    await takeOne(messages);
    assert.deepEqual(await take(messages), []);
    await t.advance(LEASE_MS);
    const again = await takeOne(messages);
    assert.deepEqual([again.id, again.started], [a.id, 2]);
    await messages.done([{ ...again, record: null }]);
    assert.equal((await takeOne(messages)).id, b.id);
  });

  test('a record that was handed over is ended together with its message', async (t) => {
    const owner = await handedOver(t, 'k');
    const taken = await takeOne(t.store.messages);
    assert.deepEqual(taken.owner, owner);
    assert.equal(await stateOf(t, owner), 'pending');
    assert.deepEqual(await t.store.messages.done([{ ...taken, record: endOf(owner) }]), ['applied']);
    assert.equal(await stateOf(t, owner), 'completed');
    assert.equal(await look(t.store.messages, taken.id), undefined);
  });

  test('a record whose message is open neither expires nor is swept nor deleted, however long that takes', async (t) => {
    const owner = await handedOver(t, 'k');
    await t.advance(1_000_000_000);
    assert.deepEqual(await t.store.sweep(100), []);
    assert.equal((await t.store.reap(100)).count, 0);
    assert.equal(await stateOf(t, owner), 'pending');
    const taken = await takeOne(t.store.messages);
    assert.deepEqual(await t.store.messages.done([{ ...taken, record: endOf(owner) }]), ['applied']);
    assert.equal(await stateOf(t, owner), 'completed');
  });

  test('whoever lost the lease does not end the record', async (t) => {
    const owner = await handedOver(t, 'k');
    const late = await takeOne(t.store.messages);
    await t.advance(LEASE_MS);
    const now = await takeOne(t.store.messages);
    assert.deepEqual(await t.store.messages.done([{ ...late, record: endOf(owner, 'failed') }]), ['lost']);
    assert.equal(await stateOf(t, owner), 'pending');
    assert.deepEqual(await t.store.messages.dead([given(now, endOf(owner, 'unknown'))]), ['applied']);
    assert.equal(await stateOf(t, owner), 'unknown');
  });

  for (const [what, to] of [
    ['unknown', 'unknown'],
    ['reopened', 'failed'],
  ] as const) {
    test(`requeued, the ${what} record waits for its message again: nobody lets it run beside the delivery`, async (t) => {
      const { messages } = t.store;
      const by = { reason: 'mended', actor: 'operator-1' };
      const owner = await handedOver(t, 'k');
      const dead = await takeOne(messages);
      await messages.dead([given(dead, { ...endOf(owner, to), response: to === 'failed' ? ANSWER : null })]);
      assert.equal(await stateOf(t, owner), to);
      if (to === 'failed') {
        // F148: what was answered is changed by the act for it alone.
        assert.deepEqual(await messages.requeue([dead.id], by), []);
        assert.deepEqual((await t.store.find([owner]))[0]?.response, ANSWER);
        assert.deepEqual(await t.store.reopen([{ ...owner, ...by }]), [{ kind: 'applied' }]);
      }
      assert.deepEqual(await messages.requeue([dead.id], by), [dead.id]);
      assert.equal(await stateOf(t, owner), 'pending');
      for (const end of ['completed', 'failed', 'retryable'] as const) {
        const [settled] = await t.store.settle([{ ...owner, ...by, to: end, response: null }]);
        assert.equal(settled?.kind, 'refused');
      }
      assert.equal((await t.store.reopen([{ ...owner, ...by, effect: 'none' }]))[0]?.kind, 'refused');
      assert.equal((await forgetAsSeen(t.store, owner, by))[0]?.kind, 'refused');
      assert.deepEqual(await t.store.sweep(10, { unknownMaxMs: 0 }), []);
      const [claim] = await t.store.claim([{ ...claimOf(owner), claimId: 'claim-beside' }]);
      assert.equal(claim?.kind === 'found' && claim.because, 'pending');
      // F62: what was told as failed may be replayed from memory a moment longer, and is not done beside that.
      if (to === 'failed') {
        assert.deepEqual(await take(messages), []);
        await t.advance(REOPEN_DELAY_MS);
      }
      const again = await takeOne(messages);
      assert.deepEqual(await messages.done([{ ...again, record: endOf(owner) }]), ['applied']);
      assert.equal(await stateOf(t, owner), 'completed');
    });
  }

  // F148
  test('an answer given by hand is not changed by delivering its dead letter again', async (t) => {
    const { messages } = t.store;
    const by = { reason: 'mended', actor: 'operator-1' };
    const owner = await handedOver(t, 'k');
    const letter = await takeOne(messages);
    await messages.dead([given(letter, endOf(owner, 'unknown'))]);
    await t.store.settle([{ ...owner, ...by, to: 'failed', response: { ...ANSWER, status: 402 } }]);
    assert.deepEqual(await messages.requeue([letter.id], by), []);
    const [record] = await t.store.find([owner]);
    assert.deepEqual([record?.state, record?.response?.status], ['failed', 402]);
  });

  // F142
  test('a dead letter that is the work of a request is not delivered again once its record is gone; one of its own is owed for ever', async (t) => {
    const { messages } = t.store;
    const by = { reason: 'mended', actor: 'operator-1' };
    const ends = ['completed', 'failed', 'retryable', 'forgotten'] as const;
    const letters: string[] = [];
    for (const end of ends) {
      const owner = await handedOver(t, end);
      const letter = await takeOne(messages);
      await messages.dead([given(letter, endOf(owner, 'unknown'))]);
      const to = end === 'forgotten' ? 'failed' : end;
      assert.deepEqual(await t.store.settle([{ ...owner, ...by, to, response: null }]), [
        { kind: 'applied' },
      ]);
      if (end === 'forgotten') await forgetAsSeen(t.store, owner, by);
      letters.push(letter.id);
    }
    const own = message();
    await messages.enqueue([own]);
    await messages.dead([given(await takeOne(messages))]);
    assert.deepEqual(await messages.requeue(letters, by), []);
    await t.advance(2_000_000);
    // A clock that is moved may have to keep pace first.
    for (let round = 0; round < 10; round += 1) await t.store.reap(10);
    for (const end of ends)
      assert.deepEqual(await t.store.find([{ scope: 'tenant-1/mail', key: end }]), [null]);
    assert.deepEqual(await messages.requeue([...letters, own.id], by), [own.id]);
    assert.equal((await takeOne(messages)).id, own.id);
    // They are cleared by an act of their own, which the audit keeps.
    assert.deepEqual((await messages.drop(letters, by)).toSorted(), letters.toSorted());
    const dropped = await t.store.audit({ acts: ['drop'] });
    assert.deepEqual(dropped.map(({ key }) => key).toSorted(), [...ends].toSorted());
  });

  test('a dead letter whose attempt has been decided otherwise since is not delivered again', async (t) => {
    const { messages } = t.store;
    const by = { reason: 'mended', actor: 'operator-1' };
    for (const to of ['completed', 'retryable'] as const) {
      const owner = await handedOver(t, to);
      const lease = await takeOne(messages);
      assert.deepEqual(await messages.dead([given(lease, endOf(owner, 'unknown'))]), ['applied']);
      const settled = { ...owner, ...by, to, response: null };
      assert.deepEqual(await t.store.settle([settled]), [{ kind: 'applied' }]);
      assert.deepEqual(await messages.requeue([lease.id], by), []);
      assert.equal((await look(messages, lease.id))?.state, 'dead');
      if (to === 'completed') continue;
      // The next request runs: its work would be done twice.
      const [claim] = await t.store.claim([{ ...claimOf(owner), claimId: 'claim-again' }]);
      assert.equal(claim?.kind, 'claimed');
      assert.deepEqual(await messages.requeue([lease.id], by), []);
      // Nor when that one has ended as a dead letter's attempt might have: it is not this message's.
      for (const end of ['unknown', 'failed'] as const) {
        const next = { ...endOf(owner, end), claimId: 'claim-again', attempt: 2, handedOver: false };
        assert.equal((await t.store.finish([next]))[0]?.kind, 'applied');
        assert.deepEqual(await messages.requeue([lease.id], by), []);
      }
      assert.deepEqual(
        [await stateOf(t, owner), (await look(messages, lease.id))?.state],
        ['failed', 'dead'],
      );
    }
    assert.deepEqual(await t.store.audit({ acts: ['requeue'] }), []);
  });

  test('a dead letter is not delivered again for another life of its key, whose attempts are numbered alike', async (t) => {
    const { messages } = t.store;
    const by = { reason: 'mended', actor: 'operator-1' };
    const owner = await handedOver(t, 'k');
    const lease = await takeOne(messages);
    await messages.dead([given(lease, endOf(owner, 'unknown'))]);
    await t.store.settle([{ ...owner, ...by, to: 'failed', response: null }]);
    assert.deepEqual(await forgetAsSeen(t.store, owner, by), [{ kind: 'applied' }]);
    await t.advance(REOPEN_DELAY_MS);
    const next = { ...claimOf(owner), claimId: 'claim-of-another-life' };
    const [claim] = await t.store.claim([next]);
    assert.equal(claim?.kind === 'claimed' && claim.attempt, owner.attempt);
    const end = { ...endOf(owner, 'unknown'), claimId: next.claimId, handedOver: false };
    assert.equal((await t.store.finish([end]))[0]?.kind, 'applied');
    assert.deepEqual(await messages.requeue([lease.id], by), []);
    assert.equal(await stateOf(t, owner), 'unknown');
  });

  test('a record that has moved on is left as it is, and told', async (t) => {
    const owner = await handedOver(t, 'k');
    await t.store.finish([endOf(owner, 'failed')]);
    const taken = await takeOne(t.store.messages);
    const ended = await t.store.messages.done([{ ...taken, record: endOf(owner) }]);
    assert.deepEqual(ended, ['contradiction']);
    assert.equal(await stateOf(t, owner), 'failed');
    assert.equal(await look(t.store.messages, taken.id), undefined);
  });
}
