/**
 * `reserve: 'in-transaction'`: one commit for key, writes, messages and answer. What is the same in both forms, the rest
 * of the contract says; here and in `reserved-ends` is what only this one does.
 */

import assert from 'node:assert/strict';
import type { RunOutcome } from 'samekey/internals/ways/direct';
import { reply } from 'samekey/internals/ways/reply';
import type { StoreWithMessages } from 'samekey/internals/store/message';
import { type AddTest, type Context, type Order, REQUEST, signal } from './kit.ts';
import { amountOf, found, hold, only, orderAt, OTHER } from './reserved-kit.ts';
import { valueOf } from './reruns.ts';

export function reservedTests(test: AddTest): void {
  test('while its handler runs nothing of the key is visible, and then all of it is', async (t) => {
    const held = hold(t, t.instance());
    await held.inside;
    assert.deepEqual([await found(t), await t.count()], [null, 0]);
    held.go();
    assert.equal(valueOf(await held.running), 1);
    const { state, attempt, renewals, fingerprint, finishedAt } = (await found(t)) ?? {};
    assert.deepEqual([state, attempt, renewals], ['completed', 1, 0]);
    assert.ok(fingerprint !== null && finishedAt !== null);
    assert.equal(await t.count(), 1);
  });

  // F12: a duplicate and another request are told apart although neither sees the other.
  test('a duplicate elsewhere is told at once that it runs, another request that the key is used', async (t) => {
    const held = hold(t, t.instance());
    await held.inside;
    const elsewhere = await orderAt(t, t.instance({ store: await t.another() }));
    assert.equal((await elsewhere.run(REQUEST)).kind, 'in-progress');
    assert.equal((await elsewhere.run(OTHER)).kind, 'mismatch');
    held.go();
    assert.equal(valueOf(await held.running), 1);
    assert.equal((await elsewhere.run(REQUEST)).kind, 'replay');
    assert.equal((await elsewhere.run(OTHER)).kind, 'mismatch');
    assert.equal(await t.count(), 1);
  });

  test('a duplicate that is compared in another way is not said to be another request', async (t) => {
    const held = hold(t, t.instance());
    await held.inside;
    const { samekey } = t.instance({
      store: await t.another(),
      fingerprintSecrets: { current: 'next', keys: { next: new Uint8Array(32) } },
    });
    const elsewhere = samekey.transactional({ name: 'order', run: async (_input: Order) => 0 });
    assert.equal((await elsewhere.run(REQUEST)).kind, 'in-progress');
    held.go();
    assert.equal(valueOf(await held.running), 1);
  });

  test('a duplicate that waits elsewhere gets the answer, and where there is none it runs', async (t) => {
    for (const [key, fails] of [
      ['k-answered', false],
      ['k-failed', true],
    ] as const) {
      const held = hold(t, t.instance(), { key, id: key, fails });
      await held.inside;
      const patient = t.instance({ store: await t.another(), waitMaxMs: 10_000 });
      let runs = 0;
      const order = patient.samekey.transactional({
        name: 'order',
        async run(_input: Order, attempt) {
          runs += 1;
          return attempt.number;
        },
      });
      const waiting = order.run({ ...REQUEST, key });
      held.go();
      // The one that failed is told what the other one did meanwhile, if that was first.
      if (fails) await held.running.catch(() => undefined);
      else await held.running;
      assert.equal((await waiting).kind, fails ? 'executed' : 'replay');
      assert.equal(runs, fails ? 1 : 0);
    }
  });

  test('an attempt that was rolled back is noted and counted, and the key takes a claim from then on', async (t) => {
    const { samekey } = t.instance();
    const seen: (readonly [number, string | null | undefined])[] = [];
    const order = samekey.transactional({
      name: 'order',
      attemptMax: 3,
      async run(input: Order, attempt) {
        await t.insert(attempt.tx, input.id, input.amount);
        seen.push([attempt.number, (await found(t))?.state]);
        throw new Error('out of paper');
      },
    });
    for (let i = 0; i < 3; i += 1) await assert.rejects(order.run(REQUEST), /out of paper/);
    assert.equal((await order.run(REQUEST)).kind, 'attempts-exhausted');
    assert.deepEqual(seen, [
      [1, undefined],
      [2, 'in_progress'],
      [3, 'in_progress'],
    ]);
    const { attempt, proof } = await only(t);
    assert.deepEqual([attempt, proof, await t.count()], [3, 'rolledBack', 0]);
  });

  test('of two forms at work on one key one commits, and the other answers as a retry', async (t) => {
    for (const first of ['reserved', 'claimed'] as const) {
      const key = `k-${first}`;
      const held = hold(t, t.instance(), { key, id: `${key}-1` });
      await held.inside;
      // As a process of a version, or with options, that reserves before.
      const { samekey } = t.instance({ store: await t.another() });
      const [inside, go] = [signal(), signal()];
      const other = samekey.transactional({
        name: 'order',
        reserve: 'before',
        async run(input: Order, attempt) {
          await t.insert(attempt.tx, `${key}-2`, amountOf(`${key}-2`));
          inside.give();
          await go.given;
          return `claimed ${attempt.number} ${input.id}`;
        },
      });
      const running = other.run({ ...REQUEST, key });
      await inside.given;
      let outcomes: readonly RunOutcome<unknown>[];
      if (first === 'reserved') {
        held.go();
        const refused = await held.running;
        assert.equal(refused.kind, 'in-progress', 'a claim stood there');
        go.give();
        outcomes = [await running];
      } else {
        go.give();
        const done = await running;
        held.go();
        outcomes = [done, await held.running];
        assert.equal(outcomes[1]?.kind, 'replay');
      }
      assert.deepEqual(
        outcomes.map((outcome) => valueOf(outcome)),
        outcomes.map(() => 'claimed 1 o-1'),
      );
      assert.deepEqual(await t.beside(`SELECT id FROM orders WHERE id LIKE '${key}%'`), [{ id: `${key}-2` }]);
    }
  });

  test(
    'a replay, a duplicate and another request need no connection of the application',
    async (t) => {
      const done = await orderAt(t, t.instance());
      assert.equal(
        (await done.run({ ...REQUEST, key: 'k-done', input: { id: 'o-9', amount: 9 } })).kind,
        'executed',
      );
      const held = ['a', 'b'].map((key) => hold(t, t.instance(), { key, id: `o-${key}` }));
      for (const { inside } of held) await inside;
      const elsewhere = await orderAt(t, t.instance({ store: await t.another() }));
      assert.equal(
        (await elsewhere.run({ ...REQUEST, key: 'k-done', input: { id: 'o-9', amount: 9 } })).kind,
        'replay',
      );
      assert.equal((await elsewhere.run({ ...REQUEST, key: 'a' })).kind, 'in-progress');
      assert.equal((await elsewhere.run({ ...OTHER, key: 'a' })).kind, 'mismatch');
      for (const each of held) each.go();
      for (const { running } of held) await running;
    },
    { connectionsMax: 2 },
  );

  test('what is handed over waits for its worker, with its message and its reference', async (t) => {
    const { samekey } = t.instance();
    const message = { topic: 'pay', payload: { amount: 5 } };
    const order = samekey.transactional({
      name: 'order',
      async run(input: Order, attempt) {
        await t.insert(attempt.tx, input.id, input.amount);
        await attempt.handOver(message);
        if (input.id === 'o-fails') throw new Error('out of paper');
        return reply(202, 'accepted');
      },
    });
    await assert.rejects(order.run({ ...REQUEST, key: 'k-fails', input: { id: 'o-fails', amount: 1 } }));
    const outcome = await order.run(REQUEST);
    assert.deepEqual([outcome.kind, valueOf(outcome)], ['executed', 'accepted']);
    const record = await only(t, REQUEST.key);
    assert.deepEqual([record.state, record.attempt], ['pending', 1]);
    assert.equal((await order.run(REQUEST)).kind, 'pending');
    const { messages } = t.store as Context['store'] & StoreWithMessages;
    const { taken } = await messages.take({
      topics: ['pay'],
      leaseId: 'lease-1',
      leaseMs: 60_000,
      limit: 10,
      suspectsMax: 10,
      deliveriesMax: 10,
    });
    assert.deepEqual(
      taken.map(({ owner }) => owner?.key),
      [REQUEST.key],
    );
    assert.equal(await t.count(), 1);
  });
}
