/** Values that JSON would lose, inside a caller's transaction: they throw, and what was written with them is rolled back. */

import assert from 'node:assert/strict';
import { errorCode } from 'samekey/internals/core/errors';
import { reply } from 'samekey/internals/ways/reply';
import { createOutbox } from 'samekey/internals/outbox/index';
import { HANDED_ON, HEADERS_NEVER_STORED, HEADERS_STORED, UNSTORABLE } from '../hostile-values.ts';
import type { SamekeyRecord } from 'samekey/internals/core/record';
import { type AddTest, type Context, ORDER, type Order, REQUEST, signal } from './kit.ts';

/** Where a value is given up inside of a transaction. */
const PLACES: Readonly<Record<string, (t: Context, value: () => unknown) => Run>> = {
  'the answer of a transactional operation': (t, value) => transactional(t, async () => reply(201, value())),
  'the answer of a transactional operation that rolls back': (t, value) =>
    transactional(t, async (attempt) => {
      attempt.rollback();
      return reply(409, value());
    }),
  'the result of a phase': (t, value) => {
    const operation = t.instance().samekey.phased({
      name: 'order',
      run: (input: Order, attempt) =>
        attempt.phase('book', async (tx) => {
          await t.insert(tx, input.id, input.amount);
          return value();
        }),
    });
    return (key) => operation.run({ ...REQUEST, key });
  },
  'a message that is handed over': (t, value) =>
    transactional(t, async (attempt) => {
      await attempt.handOver({ topic: 'ship', payload: value() });
      return 'accepted';
    }),
  'a message of the outbox': (t, value) => {
    const outbox = createOutbox({ store: t.store });
    return transactional(t, async (attempt) => {
      await outbox.enqueue(attempt.tx, { topic: 'ship', payload: value() });
      return 'accepted';
    });
  },
};

/** Asks under a key. */
type Run = (key: string) => Promise<unknown>;

interface OpenAttempt {
  readonly tx: unknown;
  rollback(): void;
  handOver(message: { readonly topic: string; readonly payload?: unknown }): Promise<string>;
}

function transactional(t: Context, end: (attempt: OpenAttempt) => Promise<unknown>): Run {
  const operation = t.instance().samekey.transactional({
    name: 'order',
    async run(input: Order, attempt) {
      await t.insert(attempt.tx, input.id, input.amount);
      return end(attempt);
    },
  });
  return (key) => operation.run({ ...REQUEST, key });
}

export function valueTests(test: AddTest): void {
  for (const [place, define] of Object.entries(PLACES)) {
    // F66, F147
    test(`${place} that cannot be stored throws, names the member and rolls back`, async (t) => {
      if (place.includes('message') && !('messages' in t.store)) return;
      let value: unknown;
      const run = define(t, () => value);
      for (const [n, { title, make, path }] of UNSTORABLE.entries()) {
        value = make();
        const key = `key-${n}`;
        const error = await run(key).then(
          () => assert.fail(`${title} was taken`),
          (thrown: unknown) => thrown,
        );
        assert.deepEqual(
          [errorCode(error), (error as { path?: unknown }).path],
          ['ERR_SAMEKEY_VALUE', path],
          title,
        );
        const record = await recordOf(t, key);
        assert.deepEqual([record?.state, record?.proof], ['retryable', 'rolledBack'], title);
        assert.equal(await t.count(), 0, title);
      }
      value = { id: 1 };
      const outcome = (await run('key-good')) as { readonly kind: string };
      assert.equal(outcome.kind, 'executed');
    });
  }

  test('the first caller of a transactional operation and the next phase get what is read back', async (t) => {
    const { samekey } = t.instance();
    const order = samekey.transactional({ name: 'order', run: () => HANDED_ON.make() });
    const first = await order.run(REQUEST);
    assert.deepEqual('value' in first ? first.value : first.kind, HANDED_ON.back);
    let seen: unknown;
    const steps = samekey.phased({
      name: 'steps',
      async run(_input: Order, attempt) {
        seen = await attempt.phase('make', () => HANDED_ON.make());
        return 'done';
      },
    });
    await steps.run(REQUEST);
    assert.deepEqual(seen, HANDED_ON.back);
  });

  test('a return with a status that was not made by reply() is committed as a value, and told of', async (t) => {
    const codes: string[] = [];
    const { samekey } = t.instance({
      onEvent: (event) => void (event.type === 'misuse' && codes.push(event.code)),
    });
    const order = samekey.transactional({ name: 'order', run: () => ({ status: 402, body: 'declined' }) });
    await order.run(REQUEST);
    assert.equal((await recordOf(t, REQUEST.key))?.response?.status, 200);
    assert.ok(codes.includes('status-ignored'), codes.join());
  });

  // F79
  test('header lines of a connection, a moment or a caller are not committed with the record', async (t) => {
    const { samekey } = t.instance();
    const headers = [...HEADERS_NEVER_STORED, ...HEADERS_STORED];
    const order = samekey.transactional({ name: 'order', run: () => reply(201, ORDER, headers) });
    const first = await order.run(REQUEST);
    const names = first.kind === 'executed' ? first.response?.headers.map(([name]) => name) : [];
    assert.ok(names?.includes('Set-Cookie') && !names.includes('Content-Length'));
    assert.deepEqual((await recordOf(t, REQUEST.key))?.response?.headers, HEADERS_STORED);
    const again = await order.run(REQUEST);
    assert.deepEqual(again.kind === 'replay' ? again.response.headers : again.kind, HEADERS_STORED);
  });

  // F79: who waited in this process is another caller, too.
  test('a duplicate that waited for a commit is told what is stored, without the first one’s cookie', async (t) => {
    const { samekey } = t.instance();
    const [inside, go] = [signal(), signal()];
    const order = samekey.transactional({
      name: 'order',
      waitMaxMs: 10_000,
      async run() {
        inside.give();
        await go.given;
        return reply(201, ORDER, [...HEADERS_NEVER_STORED, ...HEADERS_STORED]);
      },
    });
    const first = order.run(REQUEST);
    await inside.given;
    const second = order.run(REQUEST);
    go.give();
    assert.equal((await first).kind, 'executed');
    const told = await second;
    assert.deepEqual(told.kind === 'replay' ? told.response.headers : told.kind, HEADERS_STORED);
  });
}

async function recordOf({ store }: Context, key: string): Promise<SamekeyRecord | undefined> {
  const [record] = await store.list({ key });
  return record;
}
