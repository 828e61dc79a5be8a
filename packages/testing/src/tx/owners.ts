/** Whose the record is while a transaction is open: renewals that stand still, waits for connections, frozen owners. */

import assert from 'node:assert/strict';
import type { Operation } from 'samekey/internals/ways/define-operation';
import type { TxHarness } from './harness.ts';
import {
  type AddTest,
  type Context,
  type Instance,
  type Order,
  ORDER,
  REQUEST,
  signal,
  until,
} from './kit.ts';
import { valueOf } from './reruns.ts';

const ISOLATIONS = ['read committed', 'repeatable read', 'serializable'] as const;

export function ownerTests(test: AddTest, { reserve, endsWhenLost }: TxHarness): void {
  for (const isolation of ISOLATIONS) {
    // At SERIALIZABLE keys are claimed.
    const isReserved = reserve !== undefined && isolation !== 'serializable';
    // There the owner hears of its end first (see reserved-lost.ts).
    if (isReserved && endsWhenLost === true) continue;
    // Where the lock is the claim, it lasts as long as the server lets the transaction idle.
    test(
      `at ${isolation.toUpperCase()} the owner that was frozen in its transaction cannot commit, and the new one can`,
      async (t) => {
        const old = t.instance(isReserved ? { claimTtlMs: 500 } : {});
        const next = t.instance({ store: await t.another() });
        const [inside, go] = [signal(), signal()];
        // What each does; the orders of the two do not collide.
        const define = ({ samekey }: Instance, freeze: () => Promise<void>): Operation<Order, number> =>
          samekey.transactional({
            name: 'order',
            async run(input: Order, attempt) {
              // The first statement takes the snapshot.
              await t.insert(attempt.tx, `${input.id}-${attempt.number}`, attempt.number);
              await freeze();
              return attempt.number;
            },
          });
        const first = define(old, () => {
          inside.give();
          return go.given;
        }).run(REQUEST);
        await inside.given;
        if (!isReserved) await t.advance(31_000);
        const taker = define(next, async () => undefined);
        const ran = isReserved ? await onceFree(() => taker.run(REQUEST)) : await taker.run(REQUEST);
        const number = isReserved ? 1 : 2;
        assert.equal(valueOf(ran), number);
        go.give();
        // The old caller is told the answer that stands.
        const told = await first;
        assert.equal(told.kind, 'replay');
        assert.equal(valueOf(told), number);
        assert.deepEqual(await t.beside('SELECT id FROM orders'), [{ id: `o-1-${number}` }]);
        assert.ok(old.events.some((event) => event.type === 'fence-lost'));
      },
      { isolation },
    );
  }

  // F60: a renewal under its snapshot would make the completion fail for ever.
  test(
    'a transaction at REPEATABLE READ that outlasts two renewals completes at the first try',
    async (t) => {
      const { samekey } = t.instance({ claimTtlMs: 3_000, policy: 'standard' });
      const go = signal();
      let runs = 0;
      const order = samekey.transactional({
        name: 'order',
        async run(input: typeof ORDER, attempt) {
          runs += 1;
          await t.insert(attempt.tx, input.id, input.amount);
          await go.given;
          return attempt.number;
        },
      });
      const running = order.run(REQUEST);
      // A neighbour with the same times tells when two renewals are due.
      const seen = signal();
      const neighbour = samekey.run({ operation: 'n', scope: ['t1'], key: 'n', fingerprint: null }, () =>
        seen.given.then(() => 1),
      );
      await until('the neighbour was renewed twice', async () => (await renewals(t, 'n')) >= 2);
      go.give();
      assert.equal(valueOf(await running), 1);
      seen.give();
      await neighbour;
      assert.equal(runs, 1);
      assert.equal(await t.count(), 1);
    },
    { isolation: 'repeatable read' },
  );

  // F63: the store has connections of its own.
  test(
    'while it waits for a connection that others hold, its claim is renewed and nobody takes over',
    async (t) => {
      const { samekey } = t.instance();
      const [inside, go] = [signal(), signal()];
      let holding = 0;
      const hold = samekey.transactional({
        name: 'hold',
        async run(_input: null) {
          holding += 1;
          if (holding === 2) inside.give();
          await go.given;
          return 'held';
        },
      });
      const holders = ['a', 'b'].map((key) => hold.run({ scope: ['t'], key, input: null }));
      await inside.given;
      const order = samekey.transactional({
        name: 'order',
        claimTtlMs: 600,
        async run(input: typeof ORDER, attempt) {
          await t.insert(attempt.tx, input.id, input.amount);
          return attempt.number;
        },
      });
      const waiting = order.run(REQUEST);
      // Longer than its claim without renewals would have lasted.
      await until('it was renewed six times', async () => (await renewals(t, 'k-1')) >= 6);
      const { samekey: other } = t.instance({ store: await t.another() });
      const contender = other.transactional({ name: 'order', run: async (_input: typeof ORDER) => 'taken' });
      assert.equal((await contender.run(REQUEST)).kind, 'in-progress');
      go.give();
      assert.equal(valueOf(await waiting), 1);
      await Promise.all(holders);
      assert.equal(await t.count(), 1);
    },
    { connectionsMax: 2 },
  );

  test('samekey.run inside a transaction works on connections of its own', async (t) => {
    const { samekey } = t.instance({ policy: 'standard' });
    const order = samekey.transactional({
      name: 'order',
      async run(input: typeof ORDER, attempt) {
        await t.insert(attempt.tx, input.id, input.amount);
        const inner = { operation: 'inner', scope: ['t'], key: 'i', fingerprint: null };
        return [await samekey.run(inner, () => 'ran'), await samekey.run(inner, () => 'again')].map(valueOf);
      },
    });
    assert.deepEqual(valueOf(await order.run(REQUEST)), ['ran', 'ran']);
    assert.equal(await t.count(), 1);
  });
}

/** Asks again while it is in progress. Bounded by its clients' time-outs. */
async function onceFree<Outcome extends { readonly kind: string }>(
  run: () => Promise<Outcome>,
): Promise<Outcome> {
  for (const end = performance.now() + 10_000; ; ) {
    const outcome = await run();
    if (outcome.kind !== 'in-progress' || performance.now() > end) return outcome;
    await new Promise((resolve) => void setTimeout(resolve, 20));
  }
}

async function renewals(t: Context, key: string): Promise<number> {
  const records = await t.store.list({ limit: 100 });
  return records.find((record) => record.key === key)?.renewals ?? 0;
}
