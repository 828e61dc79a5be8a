/** What commits together, what is rolled back, and whose error is thrown. */

import assert from 'node:assert/strict';
import { reply } from 'samekey/internals/ways/reply';
import { errorCode, OutcomeUnknownError } from 'samekey/internals/core/errors';
import type { Operation } from 'samekey/internals/ways/define-operation';
import { ANSWER, claimed, finishRequest, recordOf } from '../contract/context.ts';
import { type AddTest, ORDER, REQUEST, signal } from './kit.ts';

export function togetherTests(test: AddTest): void {
  test('the business write and the record commit together, and a retry replays', async (t) => {
    const { samekey } = t.instance();
    let runs = 0;
    const order = samekey.transactional({
      name: 'order',
      async run(input: typeof ORDER, attempt) {
        runs += 1;
        await t.insert(attempt.tx, input.id, input.amount);
        return reply(201, { id: input.id });
      },
    });
    const first = await order.run(REQUEST);
    assert.equal(first.kind, 'executed');
    const second = await order.run(REQUEST);
    assert.equal(second.kind, 'replay');
    assert.deepEqual(second.kind === 'replay' ? second.value : null, { id: 'o-1' });
    assert.equal((await order.run({ ...REQUEST, input: { id: 'o-2', amount: 5 } })).kind, 'mismatch');
    assert.equal(runs, 1);
    assert.equal(await t.count(), 1);
  });

  test('a handler that does not know what it did outside is rolled back, is unknown, and runs no more', async (t) => {
    const { samekey } = t.instance();
    let runs = 0;
    const define = (
      name: string,
      end: (attempt: { unknown(reason: string): void }) => unknown,
    ): Operation<typeof ORDER, unknown> =>
      samekey.transactional({
        name,
        async run(input: typeof ORDER, attempt) {
          runs += 1;
          await t.insert(attempt.tx, input.id, input.amount);
          return end(attempt);
        },
      });
    const answers = define('answers', (attempt) => {
      attempt.unknown('no reply');
      return reply(201, 'paid');
    });
    const throws = define('throws', () => {
      throw new OutcomeUnknownError('no reply');
    });
    const first = await answers.run(REQUEST);
    assert.ok(first.kind === 'executed' && first.state === 'unknown' && first.value === 'paid');
    await assert.rejects(throws.run(REQUEST), { code: 'ERR_SAMEKEY_OUTCOME_UNKNOWN' });
    for (const order of [answers, throws]) assert.equal((await order.run(REQUEST)).kind, 'unknown');
    assert.deepEqual([runs, await t.count()], [2, 0]);
    const due = await t.store.takeUnknown({ operations: null, leaseMs: 60_000, limit: 10 });
    assert.deepEqual(
      due.map(({ reason }) => reason),
      ['said-unknown: no reply', 'said-unknown: no reply'],
    );
  });

  test('a phased operation that says so keeps its steps and goes on by itself no more', async (t) => {
    const { samekey } = t.instance();
    const rule = { rule: 'downstreamKey', retentionMs: 60_000 } as const;
    let calls = 0;
    const define = (name: string, amount: number, lastCall: () => string): Operation<typeof ORDER, unknown> =>
      samekey.phased({
        name,
        async run(input: typeof ORDER, attempt) {
          await attempt.phase('order', async (tx) => {
            await t.insert(tx, `${name}-${input.id}`, amount);
          });
          try {
            await attempt.effect('pay', lastCall, rule);
          } catch {
            attempt.unknown('no reply');
          }
          if (name === 'throws') throw new OutcomeUnknownError('no reply');
          attempt.unknown('no reply');
          return 'perhaps';
        },
      });
    const paid = (): string => {
      calls += 1;
      return 'paid';
    };
    const cut = (): string => {
      calls += 1;
      throw new Error('socket hang up');
    };
    const [done, open, throws] = [define('done', 1, paid), define('open', 2, cut), define('throws', 3, paid)];
    assert.equal((await done.run(REQUEST)).kind, 'executed');
    await assert.rejects(open.run(REQUEST));
    await assert.rejects(throws.run(REQUEST), { code: 'ERR_SAMEKEY_OUTCOME_UNKNOWN' });
    for (const order of [done, open, throws]) assert.equal((await order.run(REQUEST)).kind, 'unknown');
    assert.deepEqual([calls, await t.count()], [3, 3]);
    const due = await t.store.takeUnknown({ operations: null, leaseMs: 60_000, limit: 10 });
    for (const { recoveryPoint, reason } of due)
      assert.deepEqual([recoveryPoint !== null, reason], [true, 'said-unknown: no reply']);
    assert.equal(due.length, 3);
  });

  test('a throw rolls back, comes through as it was, and the next request runs', async (t) => {
    const { samekey } = t.instance();
    const thrown = new Error('out of paper');
    const order = samekey.transactional({
      name: 'order',
      async run(input: typeof ORDER, attempt) {
        await t.insert(attempt.tx, input.id, input.amount);
        if (attempt.number === 1) throw thrown;
        return attempt.number;
      },
    });
    await assert.rejects(order.run(REQUEST), (error) => error === thrown);
    assert.equal(await t.count(), 0);
    const second = await order.run(REQUEST);
    assert.equal(second.kind === 'executed' ? second.value : second.kind, 2);
    assert.equal(await t.count(), 1);
  });

  test('rollback() keeps the answer and drops the writes', async (t) => {
    const { samekey } = t.instance();
    const order = samekey.transactional({
      name: 'order',
      async run(input: typeof ORDER, attempt) {
        await t.insert(attempt.tx, input.id, input.amount);
        attempt.rollback();
        return reply(409, 'sold out');
      },
    });
    const first = await order.run(REQUEST);
    assert.equal(first.kind === 'executed' ? first.state : first.kind, 'failed');
    assert.equal((await order.run(REQUEST)).kind, 'replay');
    assert.equal(await t.count(), 0);
  });

  // F22: what a transaction may run again holds no call to the outside.
  test('an effect inside a phase is refused before its call is made, and the phase is rolled back', async (t) => {
    const { samekey } = t.instance();
    let calls = 0;
    const order = samekey.phased({
      name: 'order',
      run: (input: typeof ORDER, attempt) =>
        attempt.phase('book', async (tx) => {
          await t.insert(tx, input.id, input.amount);
          await attempt.effect(
            'charge',
            async () => {
              calls += 1;
              return null;
            },
            { rule: 'reconcile', callTimeMaxMs: 1_000 },
          );
          return null;
        }),
    });
    await assert.rejects(order.run(REQUEST), { code: 'ERR_SAMEKEY_STEP' });
    assert.deepEqual([calls, await t.count()], [0, 0]);
  });

  // F16: it is about another column of the business table, not about the key.
  test("a unique violation of a business table is the handler's error, and no collision of keys", async (t) => {
    const { samekey } = t.instance();
    await t.beside("INSERT INTO orders VALUES ('o-0', 5)");
    const order = samekey.transactional({
      name: 'order',
      run: async (input: typeof ORDER, attempt) => void (await t.insert(attempt.tx, input.id, input.amount)),
    });
    await assert.rejects(order.run(REQUEST), (error) =>
      /unique|duplicate entry|orders_amount_key|P2002/i.test(chainOf(error)),
    );
    assert.equal(await t.count(), 1);
    await t.beside('DELETE FROM orders');
    assert.equal((await order.run(REQUEST)).kind, 'executed');
  });

  // F14: records are never inserted inside the transaction, so two requests that meet cannot abort one.
  test('a request with the same key beside an open transaction disturbs nothing in it', async (t) => {
    const { samekey } = t.instance();
    const other = t.instance({ store: t.harness.dialect === 'sqlite' ? t.store : await t.another() });
    const [inside, go] = [signal(), signal()];
    const run = async (input: typeof ORDER, attempt: { readonly tx: unknown }): Promise<string> => {
      await t.insert(attempt.tx, input.id, input.amount);
      inside.give();
      await go.given;
      await t.insert(attempt.tx, 'o-2', 6);
      return 'done';
    };
    const order = samekey.transactional({ name: 'order', run });
    const running = order.run(REQUEST);
    await inside.given;
    const meanwhile = other.samekey.transactional({ name: 'order', run }).run(REQUEST);
    // On SQLite it waits for the one writer; elsewhere it is told at once.
    if (t.harness.dialect !== 'sqlite') assert.equal((await meanwhile).kind, 'in-progress');
    go.give();
    assert.equal((await running).kind, 'executed');
    await meanwhile;
    assert.equal(await t.count(), 2);
  });

  // In MySQL it commits what was before it, without a word.
  test('a change of the schema in a handler is part of its transaction, or the attempt ends without an answer', async (t) => {
    const { samekey } = t.instance();
    const order = samekey.transactional({
      name: 'order',
      async run(input: typeof ORDER, attempt) {
        await t.insert(attempt.tx, `${input.id}-${attempt.number}`, attempt.number);
        if (attempt.number === 1) await t.query(attempt.tx, 'CREATE TABLE made_inside (n int)');
        return attempt.number;
      },
    });
    if (t.harness.dialect !== 'mysql') {
      assert.equal((await order.run(REQUEST)).kind, 'executed');
      assert.deepEqual(await t.beside('SELECT n FROM made_inside'), []);
      return;
    }
    // Some sources refuse it before it is sent. Elsewhere the server commits what was before it, and nobody knows what that is (F122).
    const isRefused = ['mysql2', 'mariadb'].includes(t.source.name);
    await order.run(REQUEST).catch(() => undefined);
    const second = await order.run(REQUEST);
    assert.equal(second.kind === 'executed' ? second.value : second.kind, isRefused ? 2 : 'unknown');
    const orders = await t.beside('SELECT id FROM orders ORDER BY id');
    assert.deepEqual(orders, [{ id: isRefused ? 'o-1-2' : 'o-1-1' }]);
  });

  test('an answer of a mebibyte with every byte in it is stored as it is', async (t) => {
    const body = Uint8Array.from({ length: 1_048_576 }, (_, i) => (i * 7 + (i >> 8)) % 256);
    const owner = await claimed(t.store);
    const response = { ...ANSWER, headers: [['x-odd', '\u{e9}"\\{}$1 ?']] as const, body };
    await t.source.run(async (tx, handle) => {
      await t.insert(tx, 'o-1', 1);
      const request = finishRequest(owner, 'completed', { response });
      assert.equal((await t.store.within(handle).finish(request)).kind, 'applied');
    });
    const record = await recordOf(t.store);
    assert.deepEqual(record.response?.headers, response.headers);
    assert.ok(Buffer.from(record.response?.body ?? []).equals(body));
    assert.equal(await t.count(), 1);
  });

  test('a completion that is refused is told with the whole record, read inside the transaction', async (t) => {
    const owner = await claimed(t.store);
    const body = Uint8Array.of(0, 255, 92, 39, 123);
    const response = { ...ANSWER, headers: [['x-json', '{"a":[1]}']] as const, body };
    await t.store.finish([finishRequest(owner, 'completed', { response })]);
    const record = await recordOf(t.store);
    const refused = await t.source.run(async (_tx, handle) =>
      t.store.within(handle).finish(finishRequest({ ...owner, claimId: 'of-another' }, 'failed')),
    );
    assert.deepEqual(refused, { kind: 'refused', record });
  });

  test('attempt.tx after the end says what to do', async (t) => {
    const { samekey } = t.instance();
    const kept: { readonly tx: unknown }[] = [];
    const order = samekey.transactional({
      name: 'order',
      async run(input: typeof ORDER, attempt) {
        kept.push(attempt);
        await t.insert(attempt.tx, input.id, input.amount);
        return 'done';
      },
    });
    await order.run(REQUEST);
    assert.throws(
      () => kept[0]?.tx,
      (error) => errorCode(error) === 'ERR_SAMEKEY_OPTIONS' && /await/.test(String(error)),
    );
  });
}

/** An error and everything it wraps, as text. */
export function chainOf(error: unknown): string {
  const texts: string[] = [];
  for (let one = error; one instanceof Error; one = one.cause) {
    texts.push(String(one), String((one as { code?: unknown }).code), JSON.stringify(Object.entries(one)));
  }
  return texts.join('\n');
}
