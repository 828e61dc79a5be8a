/** Taking, ending, counting: one message and its workers. */

import assert from 'node:assert/strict';
import { isStoreError } from 'samekey/internals/core/errors';
import type { NewMessage } from 'samekey/internals/store/message';
import { claimRequest, finishRequest } from '../contract/context.ts';
import {
  type AddOutboxTest,
  endOf,
  failed,
  given,
  handedOver,
  LEASE_MS,
  look,
  message,
  take,
  takeOne,
} from './bench.ts';

/** Adds the tests. */
export function deliveryTests(test: AddOutboxTest): void {
  test('a message is delivered as it was enqueued, and is gone when it is done', async ({
    store: { messages },
  }) => {
    const sent = message({ headers: '{"trace":"1"}', payload: '{"text":"\\u0000 \\" \\\\ ü"}' });
    await messages.enqueue([sent, message({ topic: 'other' })]);
    const got = await takeOne(messages);
    const { id, topic, payload, headers, group } = got;
    assert.deepEqual(
      { id, topic, payload, headers, group },
      {
        id: sent.id,
        topic: 'mail',
        payload: sent.payload,
        headers: sent.headers,
        group: null,
      },
    );
    assert.deepEqual([got.started, got.finished, got.exhausted], [1, 0, false]);
    assert.deepEqual(await messages.done([{ ...got, record: null }]), ['applied']);
    assert.equal(await look(messages, sent.id), undefined);
    assert.deepEqual(await messages.done([{ ...got, record: null }]), ['lost']);
  });

  test('a message that is taken is nobody else’s until its lease ends', async (t) => {
    const { messages } = t.store;
    await messages.enqueue([message()]);
    const first = await takeOne(messages);
    assert.deepEqual(await take(messages), []);
    await t.advance(LEASE_MS - 1);
    assert.deepEqual(await take(messages), []);
    assert.deepEqual(await messages.extend([first], LEASE_MS), ['applied']);
    await t.advance(LEASE_MS - 1);
    assert.deepEqual(await take(messages), []);
    await t.advance(1);
    const second = await takeOne(messages);
    assert.deepEqual([second.id, second.started, second.finished], [first.id, 2, 0]);
  });

  test('whoever lost the lease changes nothing', async (t) => {
    const { messages } = t.store;
    await messages.enqueue([message()]);
    const late = await takeOne(messages);
    await t.advance(LEASE_MS);
    const owner = await takeOne(messages);
    assert.deepEqual(await messages.done([{ ...late, record: null }]), ['lost']);
    assert.deepEqual(await messages.retry([failed(late)]), ['lost']);
    assert.deepEqual(await messages.dead([given(late)]), ['lost']);
    assert.deepEqual(await messages.extend([late], 1_000_000), ['lost']);
    assert.deepEqual(await messages.note([{ ...late, providerId: 'x' }]), ['lost']);
    const now = await look(messages, owner.id);
    assert.deepEqual([now?.state, now?.leaseId, now?.providerId], ['leased', owner.leaseId, null]);
  });

  // What has had all its deliveries is taken without being counted: only the lease tells the two takes apart.
  test('whoever lost the lease of a message that has had all its deliveries changes nothing', async (t) => {
    const { messages } = t.store;
    await messages.enqueue([message()]);
    const late = await takeOne(messages);
    await t.advance(LEASE_MS);
    const owner = await takeOne(messages, { deliveriesMax: 1 });
    assert.deepEqual([owner.exhausted, owner.started], [true, late.started]);
    const before = await look(messages, owner.id);
    assert.deepEqual(await messages.done([{ ...late, record: null }]), ['lost']);
    assert.deepEqual(await messages.retry([failed(late)]), ['lost']);
    assert.deepEqual(await messages.dead([given(late)]), ['lost']);
    assert.deepEqual(await messages.extend([late], 1_000_000), ['lost']);
    assert.deepEqual(await messages.note([{ ...late, providerId: 'x' }]), ['lost']);
    assert.deepEqual(await look(messages, owner.id), before);
    assert.deepEqual(await messages.dead([given(owner)]), ['applied']);
  });

  test('a failed delivery is counted, with its error and its proof, and comes again after its delay', async (t) => {
    const { messages } = t.store;
    await messages.enqueue([message()]);
    const first = await takeOne(messages);
    assert.deepEqual(await messages.retry([failed(first, { delayMs: 5_000 })]), ['applied']);
    assert.deepEqual(await take(messages), []);
    await t.advance(5_000);
    const second = await takeOne(messages);
    const { started, finished, proven, lastError } = second;
    assert.deepEqual(
      { started, finished, proven, lastError },
      { started: 2, finished: 1, proven: 0, lastError: 'out of paper' },
    );
    await messages.retry([failed(second, { proven: true })]);
    assert.deepEqual([(await takeOne(messages)).proven], [1]);
  });

  test('a message that is handed back counts as not taken', async ({ store: { messages } }) => {
    await messages.enqueue([message()]);
    await messages.retry([{ ...failed(await takeOne(messages), { begun: false }), error: null }]);
    const again = await takeOne(messages);
    assert.deepEqual([again.started, again.finished, again.lastError], [1, 0, null]);
  });

  // F52
  test('a suspect that is handed back is one still', async (t) => {
    const { messages } = t.store;
    await messages.enqueue([message(), message()]);
    assert.equal((await take(messages)).length, 2);
    await t.advance(LEASE_MS);
    const suspects = await take(messages);
    await messages.retry(suspects.map((one) => ({ ...failed(one, { begun: false }), error: null })));
    assert.deepEqual(await take(messages, { suspectsMax: 0 }), []);
    const [one, ...others] = await take(messages, { suspectsMax: 1 });
    assert.deepEqual([one?.started, one?.finished, others.length], [2, 0, 0]);
    // Who gave it back has it no more, and its end tells nobody of a killer.
    assert.deepEqual(await messages.extend(suspects, LEASE_MS), ['lost', 'lost']);
    if (one !== undefined) assert.deepEqual(await messages.retry([failed(one)]), ['applied']);
    assert.equal((await take(messages, { suspectsMax: 0 })).length, 1);
  });

  test('a message whose worker died is a suspect: taken only if suspects are wanted', async (t) => {
    const { messages } = t.store;
    await messages.enqueue([message(), message(), message()]);
    assert.equal((await take(messages)).length, 3);
    await t.advance(LEASE_MS);
    await messages.enqueue([message()]);
    assert.deepEqual(
      (await take(messages, { suspectsMax: 0 })).map(({ started }) => started),
      [1],
    );
    assert.deepEqual(
      (await take(messages, { suspectsMax: 1 })).map(({ started }) => started),
      [2],
    );
    assert.deepEqual(
      (await take(messages, { suspectsMax: 5 })).map(({ started }) => started),
      [2, 2],
    );
  });

  // F52
  test('a message that has had all its deliveries is not begun again', async (t) => {
    const { messages } = t.store;
    await messages.enqueue([message()]);
    for (const started of [1, 2]) {
      const taken = await takeOne(messages, { deliveriesMax: 2 });
      assert.deepEqual([taken.started, taken.exhausted], [started, false]);
      await t.advance(LEASE_MS);
    }
    const last = await takeOne(messages, { deliveriesMax: 2 });
    assert.deepEqual([last.started, last.finished, last.exhausted], [2, 0, true]);
    assert.deepEqual(await messages.dead([given(last, null, false)]), ['applied']);
    const dead = await look(messages, last.id);
    assert.deepEqual([dead?.state, dead?.started, dead?.finished], ['dead', 2, 0]);
    await t.advance(LEASE_MS);
    assert.deepEqual(await take(messages), []);
  });

  test('a dead letter is kept, and once requeued has all its deliveries again', async ({ store }) => {
    const { messages } = store;
    const [sent, other] = [message(), message()];
    await messages.enqueue([sent, other]);
    const taken = await take(messages);
    await messages.dead(taken.map((each) => given(each)));
    assert.deepEqual(await messages.count(), [{ topic: 'mail', state: 'dead', count: 2 }]);
    assert.equal((await look(messages, sent.id))?.lastError, 'no such address');
    assert.deepEqual(
      await messages.requeue([sent.id, 'unknown'], { reason: 'mended', actor: 'operator-1' }),
      [sent.id],
    );
    const by = { reason: 'sent by hand', actor: 'operator-1' };
    await assert.rejects(async () => messages.drop([other.id], { ...by, reason: ' ' }));
    assert.deepEqual(await messages.drop([sent.id, other.id], by), [other.id]);
    assert.deepEqual(await messages.drop([other.id], by), []);
    const rows = await store.audit({ acts: ['drop'] });
    assert.deepEqual(
      rows.map(({ scope, key, from, to, reason, actor }) => ({ scope, key, from, to, reason, actor })),
      [{ scope: '', key: other.id, from: null, to: null, ...by }],
    );
    const again = await takeOne(messages, { deliveriesMax: 1 });
    assert.deepEqual([again.id, again.started, again.exhausted], [sent.id, 2, false]);
  });

  test('requeuing says why and leaves a row in the audit, under the key of the record or the id of the message', async (t) => {
    const { store } = t;
    const { messages } = store;
    const owner = await handedOver(t, 'k');
    const [alone, inGroup, ownedId] = [message(), message({ group: 'g' }), 'of-k'];
    await messages.enqueue([alone, inGroup]);
    for (const taken of await take(messages))
      await messages.dead([given(taken, taken.id === ownedId ? endOf(owner, 'unknown') : null)]);
    const ids = [alone.id, inGroup.id, ownedId];
    await assert.rejects(
      () => messages.requeue(ids, { reason: ' ', actor: null }),
      (error) => isStoreError(error) && error.applied === 'no',
    );
    assert.deepEqual(await store.audit({}), []);
    assert.equal((await messages.requeue([...ids, 'unknown'], { reason: 'mended', actor: null })).length, 3);
    assert.deepEqual(await messages.requeue(ids, { reason: 'again', actor: null }), []);
    const rows = (await store.audit({})).map(({ seq: _seq, at: _at, ...row }) => row);
    const common = { operation: null, act: 'requeue', from: null, to: null, reason: 'mended', actor: null };
    const { scope, key, attempt } = owner;
    const his = { ...common, scope, key, attempt, operation: 'mail', from: 'unknown', to: 'pending' };
    assert.deepEqual(
      rows.toSorted((a, b) => ids.indexOf(a.key) - ids.indexOf(b.key)),
      [
        his,
        { ...common, scope: '', key: alone.id, attempt: 0 },
        { ...common, scope: '', key: inGroup.id, attempt: 0 },
      ],
    );
  });

  test('erasing a caller deletes the dead letters of its records, and no other message', async ({
    store,
  }) => {
    const { messages } = store;
    const scope = 'tenant-1|POST /payments';
    const claim = claimRequest({ scope, key: 'ended', claimId: 'claim-ended' });
    await store.claim([claim, claimRequest({ scope, key: 'open', claimId: 'claim-open' })]);
    await store.finish([finishRequest({ ...claim, attempt: 1 }, 'failed')]);
    const owned = (key: string): NewMessage =>
      message({ owner: { scope, key, claimId: `claim-${key}`, attempt: 1 } });
    const [ended, open, others, alone, waiting] = [
      owned('ended'),
      owned('open'),
      message({ owner: { scope: 'tenant-2|POST /payments', key: 'ended', claimId: 'c', attempt: 1 } }),
      message(),
      message({ delayMs: LEASE_MS }),
    ];
    await messages.enqueue([ended, open, others, alone, waiting]);
    for (const taken of await take(messages)) await messages.dead([given(taken)]);
    const erase = { scope: 'tenant-1', limit: 10, reason: 'asked to be forgotten', actor: null };
    assert.deepEqual(await store.erase(erase), { erased: 1, left: 1 });
    const left = (await messages.list({})).map(({ id }) => id);
    assert.deepEqual(left, [open.id, others.id, alone.id, waiting.id]);
    assert.deepEqual(await messages.requeue([ended.id], { reason: 'mended', actor: null }), []);
  });

  // F53
  test('what the provider called it is there for the next delivery', async (t) => {
    const { messages } = t.store;
    await messages.enqueue([message()]);
    const first = await takeOne(messages);
    assert.deepEqual(await messages.note([{ ...first, providerId: 'prov-1' }]), ['applied']);
    await t.advance(LEASE_MS);
    assert.equal((await takeOne(messages)).providerId, 'prov-1');
  });

  test('a take tells whether there is more, and when the next one is due', async (t) => {
    const { messages } = t.store;
    const ask = { topics: ['mail'], leaseMs: LEASE_MS, suspectsMax: 1, deliveriesMax: 9 };
    const empty = await messages.take({ ...ask, limit: 1, leaseId: 'a' });
    assert.deepEqual(empty, { taken: [], more: false, nextDueMs: null });
    await messages.enqueue([message(), message({ delayMs: 7_000 })]);
    assert.equal((await messages.take({ ...ask, limit: 1, leaseId: 'b' })).more, true);
    const none = await messages.take({ ...ask, limit: 1, leaseId: 'c' });
    assert.deepEqual(none, { taken: [], more: false, nextDueMs: 7_000 });
    await t.advance(5_000);
    assert.equal((await messages.take({ ...ask, limit: 1, leaseId: 'd' })).nextDueMs, 2_000);
  });
}
