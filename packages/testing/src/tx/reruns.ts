/** Transactions that the database rolls back to let others through: the handler runs again, bounded, and nothing of the run before is left. */

import assert from 'node:assert/strict';
import type { TxHarness } from './harness.ts';
import { type AddTest, type Context, ORDER, REQUEST, signal } from './kit.ts';

/** In MySQL a write at REPEATABLE READ sees what was committed since, so two counters do not collide there. */
const COLLIDES: Readonly<Partial<Record<TxHarness['dialect'], readonly string[]>>> = {
  postgres: ['repeatable read', 'serializable'],
  mysql: ['serializable'],
};

export function conflictTests(test: AddTest): void {
  for (const isolation of ['repeatable read', 'serializable'] as const) {
    test(
      `a serialization failure at ${isolation.toUpperCase()} runs the handler again within the attempt, where there is one`,
      async (t) => {
        const collides = COLLIDES[t.harness.dialect]?.includes(isolation) === true;
        const { samekey } = t.instance();
        await t.beside('CREATE TABLE counters (n int)');
        await t.beside('INSERT INTO counters VALUES (0)');
        const meet = meeting(2);
        let runs = 0;
        const count = samekey.transactional({
          name: 'count',
          async run(id: string, attempt) {
            runs += 1;
            await t.insert(attempt.tx, `${id}-${runs}`, runs);
            await t.query(attempt.tx, 'SELECT n FROM counters');
            // Both have their snapshot now, so only one of them can commit; then each comes alone.
            await meet();
            await t.query(attempt.tx, 'UPDATE counters SET n = n + 1');
            return attempt.number;
          },
        });
        const outcomes = await Promise.all(
          ['a', 'b'].map((key) => count.run({ scope: ['t'], key, input: key })),
        );
        assert.deepEqual(outcomes.map(valueOf), [1, 1]);
        assert.equal(runs, collides ? 3 : 2);
        assert.deepEqual(await t.beside('SELECT n FROM counters'), [{ n: 2 }]);
        assert.equal(await t.count(), 2);
      },
      { isolation },
    );
  }

  test('the victim of a deadlock runs again within the attempt', async (t) => {
    const { samekey } = t.instance();
    await t.beside("INSERT INTO orders VALUES ('x', 1), ('y', 2)");
    const meet = meeting(2);
    let runs = 0;
    const swap = samekey.transactional({
      name: 'swap',
      async run(ids: readonly string[], attempt) {
        runs += 1;
        for (const id of ids) {
          await t.query(attempt.tx, `UPDATE orders SET amount = amount + 10 WHERE id = '${id}'`);
          await meet();
        }
        return attempt.number;
      },
    });
    const outcomes = await Promise.all([
      swap.run({ scope: ['t'], key: 'a', input: ['x', 'y'] }),
      swap.run({ scope: ['t'], key: 'b', input: ['y', 'x'] }),
    ]);
    assert.deepEqual(outcomes.map(valueOf), [1, 1]);
    assert.equal(runs, 3);
    assert.deepEqual(await t.beside('SELECT amount FROM orders ORDER BY id'), [
      { amount: 21 },
      { amount: 22 },
    ]);
  });

  test('a handler that does not know what it did outside is not run again when the database rolls it back', async (t) => {
    const { samekey } = t.instance();
    let runs = 0;
    const order = samekey.transactional({
      name: 'order',
      async run(input: typeof ORDER, attempt) {
        runs += 1;
        await t.insert(attempt.tx, input.id, input.amount);
        attempt.unknown('no reply');
        await conflict(t, attempt.tx, runs);
        return attempt.number;
      },
    });
    const first = await order.run(REQUEST);
    assert.deepEqual([first.kind, 'state' in first && first.state], ['executed', 'unknown']);
    assert.equal((await order.run(REQUEST)).kind, 'unknown');
    assert.deepEqual([runs, await t.count()], [1, 0]);
  });

  test('a handler that is always rolled back runs five times, and its error comes through', async (t) => {
    const { samekey } = t.instance();
    let runs = 0;
    const order = samekey.transactional({
      name: 'order',
      async run(input: typeof ORDER, attempt) {
        runs += 1;
        await t.insert(attempt.tx, input.id, input.amount);
        if (attempt.number === 1) await conflict(t, attempt.tx, runs);
        return attempt.number;
      },
    });
    await assert.rejects(order.run(REQUEST));
    assert.equal(runs, 5);
    assert.equal(await t.count(), 0);
    assert.equal(valueOf(await order.run(REQUEST)), 2);
    assert.equal(await t.count(), 1);
  });
}

export function rerunTests(test: AddTest): void {
  test('what a deferred constraint or trigger refuses at COMMIT comes through after one run', async (t) => {
    const { samekey } = t.instance();
    await t.beside(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'the books do not balance'; END $$`);
    await t.beside(
      'CREATE CONSTRAINT TRIGGER t AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()',
    );
    let runs = 0;
    const order = samekey.transactional({
      name: 'order',
      async run(input: typeof ORDER, attempt) {
        runs += 1;
        await t.insert(attempt.tx, input.id, input.amount);
        return attempt.number;
      },
    });
    await assert.rejects(order.run(REQUEST));
    assert.equal(runs, 1);
    assert.equal(await t.count(), 0);
    await t.beside('DROP TRIGGER t ON orders');
    assert.equal(valueOf(await order.run(REQUEST)), 2);
  });
}

/** Deadlock, a lock waited for in vain, a row changed since the snapshot. */
const MYSQL_CONFLICTS = [1213, 1205, 1020] as const;

/** Runs SQL that fails as a conflict with another transaction does; of each kind by turns. */
function conflict(t: Context, tx: unknown, turn: number): Promise<unknown> {
  return t.query(
    tx,
    t.harness.dialect === 'mysql'
      ? `SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = ${MYSQL_CONFLICTS[turn % 3]}, MESSAGE_TEXT = 'on purpose'`
      : "DO $$ BEGIN RAISE EXCEPTION 'on purpose' USING ERRCODE = '40001'; END $$",
  );
}

/** Its first `count` callers wait for each other; later ones pass. */
function meeting(count: number): () => Promise<void> {
  const all = signal();
  let came = 0;
  return () => {
    came += 1;
    if (came >= count) all.give();
    return all.given;
  };
}

/** The handler's value, else what it came to instead. */
export function valueOf(outcome: { readonly kind: string; readonly value?: unknown }): unknown {
  return outcome.kind === 'executed' || outcome.kind === 'replay' ? outcome.value : outcome.kind;
}
