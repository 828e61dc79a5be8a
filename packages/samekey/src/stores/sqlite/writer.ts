/**
 * The only door to the connection: reads, flushes and user transactions come through here and take turns. Waiting, for
 * another process or for an open transaction, is asynchronous, with jitter, and bounded.
 *
 * Invariants: none of our statements runs inside a transaction that is not its own, whoever opened it (F64): neither a
 * write, which a rollback would take back after it was acknowledged, nor a read, which would see what may never be
 * committed · nothing is acknowledged before COMMIT returned · every commit on this connection is flushed to disk
 * (synchronous=FULL, https://sqlite.org/pragma.html#pragma_synchronous).
 */

import { StoreError } from '../../core/errors.ts';
import { asyncContext, refuseInside, type TransactionContext } from './context.ts';
import { commitApplied, type Connection, isBusy, storeError } from './client.ts';
import { BEGIN, COMMIT, ROLLBACK } from './statements.ts';
import type { Turns } from './turns.ts';

/** How the writer waits. */
interface WriterOptions {
  readonly connection: Connection;
  readonly turns: Turns;
  /** Longest wait for other processes and open transactions, in milliseconds. */
  readonly busyTimeMaxMs: number;
  /** Jitter, in [0, 1). */
  readonly random: () => number;
}

/** The door. Every method throws `StoreError`, with `applied: 'no'` unless a COMMIT was lost. */
export interface Writer {
  /** Throws when called from within a transaction on this file. */
  refuseCaller(): void;
  /** Runs statements that only read, outside of every transaction. */
  read<T>(body: () => T): Promise<T>;
  /** Runs `body` in one transaction of our own; it must not await. */
  write<T>(body: () => T, waitMaxMs?: number): Promise<T>;
  /** Runs statements that must stand outside of transactions (PRAGMA), waiting while the file is busy. */
  alone<T>(body: () => T, waitMaxMs?: number): Promise<T>;
  /** Sets what durability needs on the connection, as every write does before its first BEGIN. */
  prepare(): Promise<void>;
  /**
   * Runs a user's function in one transaction; a throw rolls back and is thrown on. `ended` is called before the end.
   */
  transaction<T>(body: () => T | Promise<T>, ended: () => void): Promise<T>;
}

const BUSY: unique symbol = Symbol('busy');
/** SQLite's own busy handler begins with 1, 2, 5 … and ends at 100 ms; a flush of another process takes one fsync. */
const PAUSE_MIN_MS = 1;
const PAUSE_MAX_MS = 25;
/** https://sqlite.org/pragma.html#pragma_synchronous */
const FULL = 2;
/**
 * The first refuses writes; with the others statements give other rows, or other names of columns, than they say
 * (F121).
 */
const REFUSED_PRAGMAS: readonly string[] = ['query_only', 'count_changes', 'full_column_names'];

/** Makes the door of one connection. */
export function createWriter(options: WriterOptions): Writer {
  const { connection, turns } = options;
  let durable = false;

  /** Tries until it is neither busy nor somebody else's transaction, or until the time is up. */
  async function patiently<T>(attempt: () => T | typeof BUSY, waitMaxMs: number): Promise<T> {
    const deadline = performance.now() + waitMaxMs;
    for (let pauseMs = PAUSE_MIN_MS; ; pauseMs = Math.min(PAUSE_MAX_MS, pauseMs * 2)) {
      const result = attempt();
      if (result !== BUSY) return result;
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw tooBusy(waitMaxMs);
      if (turns.holder === undefined) await pause(Math.min(leftMs, pauseMs * (0.5 + options.random())));
      else await turns.ended(leftMs);
    }
  }

  /** One try of something synchronous; BUSY when it could not start, which changed nothing. */
  function tryOnce<T>(body: () => T): T | typeof BUSY {
    if (connection.inTransaction() === true) return BUSY;
    try {
      return connection.withoutWaiting(body);
    } catch (error) {
      if (isBusy(error)) return BUSY;
      throw storeError(error);
    }
  }

  function begin(): void {
    makeDurable();
    connection.run(BEGIN);
  }

  /**
   * Said in words even where it already holds: better-sqlite3 is built to fall back to NORMAL in WAL mode unless the
   * connection was told (https://sqlite.org/compile.html#default_wal_synchronous), and under NORMAL a power cut takes
   * acknowledged commits back. A stricter EXTRA stays.
   */
  function makeDurable(): void {
    if (durable) return;
    for (const name of REFUSED_PRAGMAS) {
      if (Number(connection.pragma(name)) !== 1) continue;
      throw new StoreError(
        `PRAGMA ${name} is on for this connection of SQLite: turn it off before the store uses it.`,
        {
          applied: 'no',
          transient: false,
        },
      );
    }
    connection.exec(`PRAGMA synchronous = ${Math.max(FULL, Number(connection.pragma('synchronous')))}`);
    // macOS only: without it fsync stops at the drive's cache.
    if (Number(connection.pragma('fullfsync')) !== 1) connection.exec('PRAGMA fullfsync = ON');
    durable = true;
  }

  function commit(): void {
    try {
      connection.run(COMMIT);
    } catch (error) {
      const proven = rollBack();
      throw storeError(error, proven ? commitApplied(error) : 'unknown');
    }
  }

  /**
   * Whether no transaction is open afterwards. SQLite itself rolls back on some errors; then there is nothing to do.
   */
  function rollBack(): boolean {
    if (connection.inTransaction() === false) return true;
    try {
      connection.run(ROLLBACK);
      return true;
    } catch (error) {
      return connection.inTransaction() === false || String(error).includes('no transaction is active');
    }
  }

  async function read<T>(body: () => T): Promise<T> {
    refuseInside(turns);
    return patiently(() => {
      if (turns.holder === connection.database) return BUSY;
      // A client that cannot tell whether a transaction is open is asked to open one, which fails if it is.
      if (connection.inTransaction() !== undefined) return tryOnce(body);
      return tryOnce(() => {
        connection.run('BEGIN');
        try {
          return body();
        } finally {
          connection.run(COMMIT);
        }
      });
    }, options.busyTimeMaxMs);
  }

  /** From BEGIN to COMMIT without an await: nothing else can get in between. */
  function tryWrite<T>(body: () => T): T | typeof BUSY {
    if (turns.holder !== undefined || tryOnce(begin) === BUSY) return BUSY;
    let result: T;
    try {
      result = body();
    } catch (error) {
      rollBack();
      throw storeError(error);
    }
    commit();
    return result;
  }

  async function runTransaction<T>(body: () => T | Promise<T>): Promise<T> {
    let result: T;
    try {
      result = await body();
    } catch (error) {
      rollBack();
      throw error;
    }
    if (connection.inTransaction() === false) {
      throw new StoreError(
        'The transaction was ended inside its function: leave COMMIT and ROLLBACK to store.transaction().',
        { applied: 'unknown', transient: false },
      );
    }
    commit();
    return result;
  }

  return {
    refuseCaller: () => refuseInside(turns),
    read,
    async write(body, waitMaxMs = options.busyTimeMaxMs) {
      refuseInside(turns);
      return patiently(() => tryWrite(body), waitMaxMs);
    },
    async alone(body, waitMaxMs = options.busyTimeMaxMs) {
      refuseInside(turns);
      return patiently(() => (turns.holder === undefined ? tryOnce(body) : BUSY), waitMaxMs);
    },
    async prepare() {
      refuseInside(turns);
      await patiently(
        () => (turns.holder === connection.database ? BUSY : tryOnce(makeDurable)),
        options.busyTimeMaxMs,
      );
    },
    async transaction(body, ended) {
      refuseInside(turns);
      const async = await asyncContext();
      const turn = await turns.enter(options.busyTimeMaxMs);
      if (turn === undefined) throw tooBusy(options.busyTimeMaxMs);
      const context: TransactionContext = { turns, open: true, outer: async?.getStore() };
      try {
        await patiently(() => {
          if (tryOnce(begin) === BUSY) return BUSY;
          // In the same step as BEGIN: a flush in between would fall into the transaction.
          turn.hold(connection.database);
          return undefined;
        }, options.busyTimeMaxMs);
        return await runTransaction(() => (async === undefined ? body() : async.run(context, body)));
      } finally {
        context.open = false;
        ended();
        turn.leave();
      }
    },
  };
}

function tooBusy(waitMaxMs: number): StoreError {
  return new StoreError(
    `The SQLite file was busy for ${waitMaxMs} ms: keep transactions on it short, or raise busyTimeMaxMs.`,
    { applied: 'no', busy: true },
  );
}

/** Keeps the process alive: somebody awaits the write behind it. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}
