/** Nested transactions of a library, which are savepoints: what is rolled back there is gone, with its messages, and nothing else is (F124). */

import assert from 'node:assert/strict';
import type { StoreWithMessages } from 'samekey/internals/store/message';
import { createOutbox } from 'samekey/internals/outbox/index';
import { type AddTest, type Context, REQUEST } from './kit.ts';

class Undone extends Error {}

export function nestedTests(test: AddTest): void {
  // F124
  test('a nested transaction that is rolled back takes its rows and messages along, and what was before stands', async (t) => {
    const { samekey } = t.instance();
    const order = samekey.transactional({
      name: 'order',
      async run(_input: unknown, attempt) {
        await t.insert(attempt.tx, 'before', 1);
        await enqueue(t, attempt.tx, 'before');
        await nested(t, attempt.tx, async (inner) => {
          await t.insert(inner, 'inside', 2);
          await enqueue(t, attempt.tx, 'inside');
          await t.insert(inner, 'inside, later', 3);
          throw new Undone();
        }).catch((error: unknown) => assert.ok(error instanceof Undone, String(error)));
        await t.insert(attempt.tx, 'after', 4);
        await enqueue(t, attempt.tx, 'after');
        return attempt.number;
      },
    });
    assert.equal((await order.run(REQUEST)).kind, 'executed');
    assert.deepEqual(await orders(t), ['after', 'before']);
    assert.deepEqual(await topics(t), messagesHere(t) ? ['after', 'before'] : []);
  });

  test('a nested transaction that is kept stands with the transaction around it, and goes with it', async (t) => {
    const { samekey } = t.instance();
    let runs = 0;
    const order = samekey.transactional({
      name: 'order',
      async run(_input: unknown, attempt) {
        runs += 1;
        await nested(t, attempt.tx, async (inner) => {
          await enqueue(t, attempt.tx, 'outer');
          await nested(t, inner, async (innermost) => {
            await t.insert(innermost, 'innermost', 1);
            await enqueue(t, attempt.tx, 'innermost');
          });
          await t.insert(inner, 'outer', 2);
        });
        if (attempt.number === 1) throw new Undone();
        return attempt.number;
      },
    });
    await assert.rejects(order.run(REQUEST), Undone);
    assert.deepEqual([await orders(t), await topics(t)], [[], []]);
    assert.equal((await order.run(REQUEST)).kind, 'executed');
    assert.equal(runs, 2);
    assert.deepEqual(await orders(t), ['innermost', 'outer']);
    assert.deepEqual(await topics(t), messagesHere(t) ? ['innermost', 'outer'] : []);
  });
}

/** By the library's own means, else by SQL. */
async function nested(t: Context, tx: unknown, body: (inner: unknown) => Promise<void>): Promise<void> {
  if (t.nested !== undefined) return t.nested(tx, body);
  savepoints += 1;
  const name = `theirs_${savepoints}`;
  await t.query(tx, `SAVEPOINT ${name}`);
  try {
    await body(tx);
  } catch (error) {
    await t.query(tx, `ROLLBACK TO SAVEPOINT ${name}`);
    throw error;
  }
  await t.query(tx, `RELEASE SAVEPOINT ${name}`);
}

let savepoints = 0;

function messagesHere(t: Context): boolean {
  return 'messages' in t.store;
}

async function enqueue(t: Context, tx: unknown, topic: string): Promise<void> {
  if (!messagesHere(t)) return;
  const outbox = createOutbox({ store: t.store });
  await outbox.enqueue(tx, { topic, payload: 1 });
}

async function topics(t: Context): Promise<readonly string[]> {
  if (!messagesHere(t)) return [];
  const list = await (t.store as Context['store'] & StoreWithMessages).messages.list({});
  return list.map(({ topic }) => topic).toSorted();
}

async function orders(t: Context): Promise<readonly string[]> {
  return (await t.beside('SELECT id FROM orders')).map(({ id }) => String(id)).toSorted();
}
