/**
 * A transaction that somebody ends inside the handler (F122): what was committed by then stands, and nobody knows what that is. So the record
 * is `unknown`, whatever the handler does next, and nothing runs again. Only what is known to have been rolled back whole may.
 */

import assert from 'node:assert/strict';
import { type AddTest, type Context, REQUEST, signal } from './kit.ts';

const ENDED = 'transaction-ended-inside';
/** What was sent behind a deadlock is told by its number. */
const AFTER = 100;
const LATER = 200;

/** How it goes on. */
const NEXT: readonly (readonly [title: string, next: (t: Context, tx: unknown) => Promise<void>])[] = [
  ['and answers', async () => undefined],
  [
    'and throws',
    async () => {
      throw new Error('the handler gives up');
    },
  ],
  [
    'and begins another, writes, and answers',
    async (t, tx) => {
      await t.query(tx, t.harness.dialect === 'mysql' ? BEGIN_MYSQL : 'BEGIN');
      await t.insert(tx, 'in another', 7);
    },
  ],
];

const BEGIN_MYSQL = 'START TRANSACTION READ WRITE';

export function endedInsideTests(test: AddTest): void {
  for (const [title, next] of NEXT) {
    test(`a handler whose transaction is committed inside ${title}: unknown, and never run again`, async (t) => {
      const { samekey } = t.instance();
      if (t.harness.dialect === 'mysql') await t.beside('CREATE PROCEDURE commits() BEGIN COMMIT; END');
      let runs = 0;
      let refused: unknown;
      const order = samekey.transactional({
        name: 'order',
        async run(_input: unknown, attempt) {
          runs += 1;
          await t.insert(attempt.tx, 'committed', 1);
          await t.query(attempt.tx, t.harness.dialect === 'mysql' ? 'CALL commits()' : 'COMMIT');
          try {
            await next(t, attempt.tx);
          } catch (error) {
            refused = error;
            throw error;
          }
          return attempt.number;
        },
      });
      const first = await order.run(REQUEST).then(
        ({ kind }) => kind,
        () => 'threw',
      );
      assert.ok(first === 'unknown' || first === 'threw' || first === 'executed', first);
      assert.equal((await order.run(REQUEST)).kind, 'unknown', String(refused));
      assert.equal(runs, 1);
      assert.deepEqual(await reasons(t), [ENDED]);
      // What was sent in a transaction that nobody of ours has begun is not committed by us.
      assert.deepEqual(await orders(t), ['committed']);
    });
  }

  test('a phase whose transaction is committed inside stops the operation: unknown, and never run again', async (t) => {
    const { samekey } = t.instance();
    if (t.harness.dialect === 'mysql') await t.beside('CREATE PROCEDURE commits() BEGIN COMMIT; END');
    let runs = 0;
    const order = samekey.phased({
      name: 'order',
      async run(_input: unknown, attempt) {
        await attempt.phase('book', async (tx) => {
          runs += 1;
          await t.insert(tx, 'committed', 1);
          await t.query(tx, t.harness.dialect === 'mysql' ? 'CALL commits()' : 'COMMIT');
          return 1;
        });
        return 1;
      },
    });
    await order.run(REQUEST).catch(() => undefined);
    assert.equal((await order.run(REQUEST)).kind, 'unknown');
    assert.equal(runs, 1);
    assert.deepEqual(await reasons(t), [ENDED]);
  });
}

export function caughtDeadlockTests(test: AddTest): void {
  for (const next of ['answers', 'throws'] as const) {
    test(`a deadlock that the handler catches, writes on after, and ${next}: nothing of it stands twice`, async (t) => {
      const { samekey } = t.instance();
      await t.beside("INSERT INTO orders VALUES ('x', 1), ('y', 2)");
      await t.beside('CREATE TABLE booked (run INT PRIMARY KEY)');
      const meet = [signal(), signal()] as const;
      let runs = 0;
      const swap = samekey.transactional({
        name: 'swap',
        async run({ ids, at }: { readonly ids: readonly string[]; readonly at: number }, attempt) {
          runs += 1;
          const run = runs;
          await t.query(attempt.tx, `INSERT INTO booked VALUES (${run})`);
          await t.query(attempt.tx, `UPDATE orders SET amount = amount + 10 WHERE id = '${ids[0]}'`);
          meet[at]?.give();
          await meet[1 - at]?.given;
          try {
            await t.query(attempt.tx, `UPDATE orders SET amount = amount + 10 WHERE id = '${ids[1]}'`);
          } catch (error) {
            // What it sends now commits by itself. The server may take the first for one of the transaction that is gone, and refuses the rest.
            for (const from of [AFTER, LATER])
              await t.query(attempt.tx, `INSERT INTO booked VALUES (${from + run})`).catch(() => undefined);
            if (next === 'throws') throw error;
          }
          return attempt.number;
        },
      });
      const requests = [
        { scope: ['t'], key: 'a', input: { ids: ['x', 'y'], at: 0 } },
        { scope: ['t'], key: 'b', input: { ids: ['y', 'x'], at: 1 } },
      ];
      const kinds = await Promise.all(
        requests.map((request) =>
          swap.run(request).then(
            ({ kind }) => kind,
            () => 'threw',
          ),
        ),
      );
      const booked = (await t.beside('SELECT run FROM booked')).map(({ run }) => Number(run));
      const [whole, after, later] = [
        booked.filter((run) => run < AFTER).length,
        booked.filter((run) => run > AFTER && run < LATER).length,
        booked.filter((run) => run > LATER).length,
      ];
      // One run of each request that was executed, none of one whose outcome nobody knows.
      assert.equal(whole, kinds.filter((kind) => kind === 'executed').length, kinds.join());
      assert.ok(whole >= 1 && later === 0, booked.join());
      assert.ok(
        after <= kinds.filter((kind) => kind === 'unknown').length,
        `${booked.join()} ${kinds.join()}`,
      );
      // Asked again, none runs whose outcome is not known.
      const [before, again] = [runs, await Promise.all(requests.map((request) => swap.run(request)))];
      for (const { kind } of again) assert.ok(kind === 'replay' || kind === 'unknown', kind);
      assert.equal(runs, before);
    });
  }
}

async function orders(t: Context): Promise<readonly string[]> {
  return (await t.beside('SELECT id FROM orders ORDER BY id')).map(({ id }) => String(id));
}

async function reasons(t: Context): Promise<readonly (string | null)[]> {
  const records = await t.store.list({ states: ['unknown'] });
  return records.map(({ reason }) => reason);
}
