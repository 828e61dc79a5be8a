/** Keys that are reserved in the transaction: what an attempt leaves that fails, and what is told of one that runs. */

import assert from 'node:assert/strict';
import type { Operation } from 'samekey/internals/ways/define-operation';
import { StoreError } from 'samekey/internals/core/errors';
import { createLimits } from 'samekey/internals/guard/index';
import { createStatus } from 'samekey/internals/http/status';
import { type AddTest, type Instance, type Order, REQUEST, signal, until } from './kit.ts';
import { found, hold, only, orderAt, OTHER } from './reserved-kit.ts';

export function reservedEndTests(test: AddTest): void {
  // Between its ROLLBACK and the record of it nobody else has the key.
  test('what an attempt said of itself stands before its lock is gone', async (t) => {
    const first = t.instance();
    const stop = first.stopAt('finish.before');
    let calls = 0;
    const define = ({ samekey }: Instance): Operation<Order, unknown> =>
      samekey.transactional({
        name: 'order',
        async run(input: Order, attempt) {
          calls += 1;
          await t.insert(attempt.tx, input.id, input.amount);
          attempt.unknown('no reply');
          throw new Error('socket hang up');
        },
      });
    const running = define(first).run(REQUEST);
    running.catch(() => undefined);
    await stop.reached;
    const second = define(t.instance({ store: await t.another() }));
    assert.equal((await second.run(REQUEST)).kind, 'in-progress');
    stop.release();
    await assert.rejects(running, /hang up/);
    assert.equal((await second.run(REQUEST)).kind, 'unknown');
    assert.deepEqual([calls, await t.count(), (await only(t)).state], [1, 0, 'unknown']);
  });

  test('what it said stands although its time is up and its transaction ends much later', async (t) => {
    const { samekey, events } = t.instance({ attemptTimeMaxMs: 300, claimTtlMs: 30_000 });
    const go = signal();
    let runs = 0;
    const order = samekey.transactional({
      name: 'order',
      async run(input: Order, attempt) {
        runs += 1;
        await t.insert(attempt.tx, input.id, input.amount);
        attempt.unknown('no reply');
        await go.given;
        return 'late';
      },
    });
    assert.equal((await order.run(REQUEST)).kind, 'unknown');
    assert.equal((await only(t)).state, 'unknown');
    go.give();
    await until('its handler has ended', async () => events.some(({ type }) => type === 'handler-ended'));
    await samekey.close({ drainMs: 5_000 });
    assert.deepEqual([runs, await t.count()], [1, 0]);
  });

  test('an attempt that fails while the store is away keeps its own error, and is noted once the store is back', async (t) => {
    let isAway = false;
    const store: typeof t.store = {
      ...t.store,
      claim: (requests) => (isAway ? Promise.reject(away()) : t.store.claim(requests)),
      finish: (requests) => (isAway ? Promise.reject(away()) : t.store.finish(requests)),
    };
    const { samekey } = t.instance({ store });
    const order = samekey.transactional({
      name: 'order',
      async run(input: Order, attempt) {
        await t.insert(attempt.tx, input.id, input.amount);
        isAway = true;
        throw new Error('out of paper');
      },
    });
    await assert.rejects(order.run(REQUEST), /out of paper/);
    assert.equal(await found(t), null);
    isAway = false;
    await until('it is noted', async () => (await found(t))?.state === 'retryable');
    const { state, proof, attempt } = await only(t);
    assert.deepEqual([state, proof, attempt], ['retryable', 'rolledBack', 1]);
  });

  test('a duplicate of what runs is known, however much its caller is over a limit', async (t) => {
    const held = hold(t, t.instance());
    await held.inside;
    let taken = 0;
    const limits = createLimits({
      newKeys: {
        async consume() {
          taken += 1;
          if (taken > 1) throw Object.assign(new Error('over the limit'), { msBeforeNext: 5_000 });
        },
        reward: async () => undefined,
      },
    });
    const elsewhere = await orderAt(t, t.instance({ store: await t.another(), limits }));
    assert.equal((await elsewhere.run({ ...REQUEST, key: 'k-other', input: OTHER.input })).kind, 'executed');
    assert.equal((await elsewhere.run(REQUEST)).kind, 'in-progress');
    assert.equal((await elsewhere.run({ ...REQUEST, key: 'k-new' })).kind, 'limited');
    held.go();
    await held.running;
  });

  // F102: what a deploy made stricter turns no retry away while its first request runs.
  test('a retry whose input is not valid any more is told that its request runs', async (t) => {
    const held = hold(t, t.instance());
    await held.inside;
    const { samekey } = t.instance({ store: await t.another() });
    const stricter = samekey.transactional({
      name: 'order',
      schema: { '~standard': { version: 1, vendor: 'test', validate: tooSmall } },
      run: async (_input: Order) => 0,
    });
    assert.equal((await stricter.run(REQUEST)).kind, 'in-progress');
    assert.equal((await stricter.run({ ...REQUEST, key: 'k-new' })).kind, 'request-invalid');
    held.go();
    await held.running;
    assert.equal((await stricter.run(REQUEST)).kind, 'replay');
  });

  for (const isolation of ['read committed', 'repeatable read', 'serializable'] as const) {
    test(
      `at ${isolation.toUpperCase()} different keys do not disturb each other`,
      async (t) => {
        const { samekey } = t.instance();
        let runs = 0;
        const order = samekey.transactional({
          name: 'order',
          async run(input: Order, attempt) {
            runs += 1;
            await t.insert(attempt.tx, input.id, input.amount);
            return attempt.number;
          },
        });
        const outcomes = await Promise.all(
          Array.from({ length: 8 }, (_, i) =>
            order.run({ ...REQUEST, key: `k-${i}`, input: { id: `o-${i}`, amount: 100 + i } }),
          ),
        );
        assert.deepEqual(new Set(outcomes.map(({ kind }) => kind)), new Set(['executed']));
        assert.equal(await t.count(), 8);
        // The business table itself may conflict where predicates are locked.
        assert.ok(isolation === 'serializable' ? runs <= 24 : runs === 8, `${runs} runs`);
      },
      { isolation },
    );
  }

  test('who asks for the status of what runs is told that it runs', async (t) => {
    const instance = t.instance();
    const [inside, go] = [signal(), signal()];
    const order = instance.samekey.transactional({
      name: 'order',
      async run(input: Order, attempt) {
        await t.insert(attempt.tx, input.id, input.amount);
        inside.give();
        await go.given;
        return attempt.number;
      },
    });
    const status = createStatus<string>(order, {
      scope: () => 't1',
      key: (key) => key,
    });
    assert.equal((await status(REQUEST.key)).status, 404);
    const running = order.run(REQUEST);
    await inside.given;
    assert.equal((await status(REQUEST.key)).status, 202);
    assert.equal((await status('k-never')).status, 404);
    go.give();
    await running;
    assert.equal((await status(REQUEST.key)).status, 200);
  });
}

function tooSmall(): { readonly issues: readonly { readonly message: string }[] } {
  return { issues: [{ message: 'too small' }] };
}

function away(): StoreError {
  return new StoreError('away', { applied: 'no' });
}
