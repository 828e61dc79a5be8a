/**
 * `reserve: 'in-transaction'`: one commit for key, writes, messages and answer. What is the same in both forms, the rest
 * of the contract says; here is what only this one does.
 */

import assert from 'node:assert/strict';
import type { RunOutcome } from 'samekey/internals/ways/direct';
import type { Operation } from 'samekey/internals/ways/define-operation';
import { reply } from 'samekey/internals/ways/reply';
import { StoreError } from 'samekey/internals/core/errors';
import { createLimits } from 'samekey/internals/guard/index';
import { createStatus } from 'samekey/internals/http/status';
import type { StoreWithMessages } from 'samekey/internals/store/message';
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

const OTHER = { ...REQUEST, input: { id: 'o-2', amount: 6 } };

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

/** An order that waits inside its handler. */
interface Holding {
  readonly inside: Promise<void>;
  readonly running: Promise<RunOutcome<unknown>>;
  go(): void;
}

function hold(
  t: Context,
  { samekey }: Instance,
  {
    key = REQUEST.key,
    id = ORDER.id,
    fails = false,
  }: { readonly key?: string; readonly id?: string; readonly fails?: boolean } = {},
): Holding {
  const [inside, go] = [signal(), signal()];
  const order = samekey.transactional({
    name: 'order',
    async run(_input: Order, attempt) {
      await t.insert(attempt.tx, id, amountOf(id));
      inside.give();
      await go.given;
      if (fails) throw new Error('out of paper');
      return attempt.number;
    },
  });
  const running = order.run({ ...REQUEST, key });
  running.catch(() => undefined);
  return { inside: inside.given, running, go: () => go.give() };
}

/** One of its own for each id. */
function amountOf(id: string): number {
  const codes = Array.from(id, (character) => character.codePointAt(0) ?? 0);
  return codes.reduce((sum, code) => (sum * 31 + code) % 1_000_000, 7) + 1_000;
}

async function orderAt(t: Context, { samekey }: Instance): Promise<Operation<Order, unknown>> {
  return samekey.transactional({
    name: 'order',
    async run(input: Order, attempt) {
      await t.insert(attempt.tx, input.id, input.amount);
      return attempt.number;
    },
  });
}

type Listed = Awaited<ReturnType<Context['store']['list']>>[number];

async function found(t: Context, key: string = REQUEST.key): Promise<Listed | null> {
  return (await t.store.list({ limit: 100 })).find((record) => record.key === key) ?? null;
}

async function only(t: Context, key: string = REQUEST.key): Promise<Listed> {
  const record = await found(t, key);
  assert.ok(record !== null, `there is a record of ${key}`);
  return record;
}
