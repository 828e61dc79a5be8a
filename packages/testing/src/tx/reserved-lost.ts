/**
 * Keys that are reserved in the transaction, over a library that tells at once when the connection of a transaction is lost: the
 * attempt ends while its handler still runs.
 */

import assert from 'node:assert/strict';
import type { ClaimRequest } from 'samekey/internals/store/store';
import type { RunOutcome } from 'samekey/internals/ways/direct';
import { type AddTest, type Context, type Instance, type Order, REQUEST, signal } from './kit.ts';
import { orderAt, only } from './reserved-kit.ts';
import { valueOf } from './reruns.ts';

/** How long the server lets the transaction of a handler that waits stand idle, in milliseconds. */
const IDLE_TIME_MAX_MS = 500;

export function reservedLostTests(test: AddTest): void {
  for (const isolation of ['read committed', 'repeatable read'] as const) {
    test(
      `at ${isolation.toUpperCase()} an owner whose connection is lost leaves its attempt, and the next one runs`,
      async (t) => {
        const lost = loseIn(t, t.instance({ claimTtlMs: IDLE_TIME_MAX_MS }));
        await assert.rejects(lost.running);
        const { state, proof, attempt } = await only(t);
        assert.deepEqual([state, proof, attempt], ['retryable', 'rolledBack', 1]);
        const next = await orderAt(t, t.instance({ store: await t.another() }));
        assert.equal(valueOf(await next.run(REQUEST)), 2);
        // What its handler does now is in no transaction.
        lost.go();
        await lost.ended;
        assert.deepEqual(await t.beside('SELECT id FROM orders'), [{ id: REQUEST.input.id }]);
        assert.equal((await only(t)).state, 'completed');
      },
      { isolation },
    );
  }

  test('a handler that fails after its attempt has ended claims nothing', async (t) => {
    const claims: ClaimRequest[] = [];
    const claim: typeof t.store.claim = (requests) => {
      claims.push(...requests);
      return t.store.claim(requests);
    };
    const instance = t.instance({ store: { ...t.store, claim }, claimTtlMs: IDLE_TIME_MAX_MS });
    const stop = instance.stopAt('finish.before');
    const lost = loseIn(t, instance);
    await stop.reached;
    const [inside, go] = [signal(), signal()];
    const taker = t.instance({ store: await t.another() }).samekey.transactional({
      name: 'order',
      reserve: 'before',
      async run(_input: Order) {
        inside.give();
        await go.given;
        throw new Error('out of paper');
      },
    });
    const taking = taker.run(REQUEST);
    await inside.given;
    stop.release();
    assert.equal((await lost.running).kind, 'in-progress');
    go.give();
    await assert.rejects(taking, /out of paper/);
    const left = await only(t);
    assert.equal(left.state, 'retryable');
    lost.go();
    await lost.ended;
    assert.deepEqual([claims.length, await only(t)], [1, left]);
  });
}

/** An order whose handler waits until its connection is lost, and longer; then it goes on with its transaction. */
interface Lost {
  readonly running: Promise<RunOutcome<unknown>>;
  /** The handler has ended, and what follows from that has begun. */
  readonly ended: Promise<void>;
  go(): void;
}

function loseIn(t: Context, { samekey }: Instance): Lost {
  const [go, over] = [signal(), signal()];
  const order = samekey.transactional({
    name: 'order',
    async run(input: Order, attempt) {
      await t.insert(attempt.tx, input.id, 999);
      await go.given;
      try {
        await t.query(attempt.tx, 'SELECT 1');
      } finally {
        over.give();
      }
      return attempt.number;
    },
  });
  const running = order.run(REQUEST);
  running.catch(() => undefined);
  const ended = over.given.then(turns);
  return { running, ended, go: () => go.give() };
}

/** Enough for what follows a handler's end without waiting for anything. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
}
