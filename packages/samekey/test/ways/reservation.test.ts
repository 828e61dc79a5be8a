/** How long a connection is waited for, and what becomes of one that comes too late. */

import { expect, it } from 'vitest';
import type { World } from '../../src/core/world.ts';
import type { ClaimRequest } from '../../src/store/store.ts';
import type { Reserved, TransactionSource, Within } from '../../src/store/transaction.ts';
import type { Transactions } from '../../src/ways/commit.ts';
import { KeyReservation } from '../../src/ways/reservation.ts';

const CLAIM = { scope: 't', key: 'k', claimTtlMs: 30_000 } as ClaimRequest;

/** A library whose connection, and a store whose answer, come when the test says so. */
function setUp() {
  const timers = new Set<{ readonly ms: number; readonly due: () => void }>();
  const world = {
    setTimer(ms: number, due: () => void) {
      const timer = { ms, due };
      timers.add(timer);
      return { cancel: () => timers.delete(timer) };
    },
  } as unknown as World;
  const [connection, answer, rollBack] = [deferred<void>(), deferred<Reserved>(), deferred<void>()];
  let reserves = 0;
  const within = {
    reserve() {
      reserves += 1;
      return answer.promise;
    },
  } as unknown as Within;
  const ended: Promise<unknown>[] = [];
  const source: TransactionSource<unknown, unknown> = {
    name: 'a library',
    dialect: 'postgres',
    tellsCommit: true,
    exclusive: false,
    run(body) {
      const result = (async () => {
        await connection.promise;
        try {
          return await body({}, {});
        } catch (error) {
          await rollBack.promise;
          throw error;
        }
      })();
      ended.push(result.catch((error: unknown) => error));
      return result;
    },
  };
  const store = { within: () => within, transactionFault: () => 'rolled-back' };
  const transactions = { source, store } as unknown as Transactions<unknown>;
  return {
    reservation: new KeyReservation(world, transactions),
    connection,
    answer,
    rollBack,
    ended,
    /** So many milliseconds have passed. */
    pass(passedMs: number) {
      for (const timer of timers) if (timer.ms <= passedMs && timers.delete(timer)) timer.due();
    },
    reserves: () => reserves,
  };
}

function deferred<T>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let settle: ((value: T) => void) | undefined;
  const promise = new Promise<T>((resolve) => {
    settle = resolve;
  });
  return { promise, resolve: (value) => settle?.(value) };
}

it('a connection that comes too late reserves nothing, and its transaction is rolled back', async () => {
  const t = setUp();
  t.rollBack.resolve();
  const reserving = t.reservation.reserve(CLAIM);
  t.pass(1_000);
  expect(await reserving).toBe('late');
  t.connection.resolve();
  expect(await t.ended[0]).toBeInstanceOf(Error);
  expect([t.reserves(), t.reservation.isHeld]).toEqual([0, false]);
});

// Its own locks would be met by whoever looks who has the key: a new key was answered 409 on a busy machine.
it('with its connection it is not late, however long the statement takes', async () => {
  const t = setUp();
  t.rollBack.resolve();
  const reserving = t.reservation.reserve(CLAIM);
  t.connection.resolve();
  await expect.poll(t.reserves).toBe(1);
  t.pass(1_000);
  t.answer.resolve('reserved');
  expect(await reserving).toBe('reserved');
  t.reservation.release();
  expect(await t.ended[0]).toBeInstanceOf(Error);
});

it('what is taken is told once its own transaction has ended', async () => {
  const t = setUp();
  const reserving = t.reservation.reserve(CLAIM);
  t.connection.resolve();
  t.answer.resolve('taken');
  let isTold = false;
  void reserving.then(() => (isTold = true));
  await expect.poll(t.reserves).toBe(1);
  await new Promise((resolve) => void setImmediate(resolve));
  expect(isTold).toBe(false);
  t.rollBack.resolve();
  expect(await reserving).toBe('taken');
  expect(await t.ended[0]).toBeInstanceOf(Error);
});

it('a database that does not answer at all is told, and what comes later is rolled back', async () => {
  const t = setUp();
  t.rollBack.resolve();
  const reserving = t.reservation.reserve(CLAIM);
  t.connection.resolve();
  await expect.poll(t.reserves).toBe(1);
  t.pass(5_000);
  expect(await reserving).toBe('silent');
  // Meanwhile no second transaction waits in the library's queue.
  expect(await t.reservation.reserve(CLAIM)).toBe('late');
  t.answer.resolve('reserved');
  expect(await t.ended[0]).toBeInstanceOf(Error);
  expect([t.ended.length, t.reservation.isHeld]).toEqual([1, false]);
});
