/**
 * One connection of the store's own: opened when first needed, opened again with backoff after a loss, one piece of
 * work at a time. Nothing but the store ever runs on it, so handlers that hold every connection of a pool hold up
 * nothing (F63).
 *
 * Invariants: every session reads committed rows, refuses values instead of cutting them, waits a second for a lock at
 * most, and is ended by the server when it says nothing for a while, so that the locks of a frozen process go · a write
 * whose transaction was chosen as a deadlock's victim is done again, a bounded number of times · so is, once, one whose
 * connection was lost before COMMIT was sent: nothing of it stands.
 */

import { StoreError } from '../../core/errors.ts';
import type { Ask, Connection } from './client.ts';
import { breaksConnection, isConflict, isLockWait, storeError } from './errors.ts';
import { BEGIN, checkSession, COMMIT, ROLLBACK, sessionStatements } from './session.ts';
import type { ServerTime } from '../../store/time/server-time.ts';
import { openedWithin, within } from '../sql/opening.ts';

/** Settings of a link. */
export interface LinkOptions {
  open(): Promise<Connection>;
  /** A reply that takes longer counts as lost, and its connection with it; in milliseconds. */
  readonly replyTimeMaxMs: number;
  /** A locked table is waited for so long, in seconds; default 1. */
  readonly lockWaitMaxS?: number;
  readonly random: () => number;
  /** What statements are told of the time. */
  readonly time: Pick<ServerTime, 'fresh'>;
  /** Refuses a connection on which nothing may be done, before anything is. */
  check?(ask: Ask): Promise<void>;
}

/** One connection, kept. All of it throws `StoreError`. */
export interface Link {
  /** As `alone`, for what needs no time: it is asked for here, and before there are tables. */
  timeless<T>(work: (ask: Ask) => Promise<T>): Promise<T>;
  /** Statements one after the other, each of which commits by itself; nobody else's in between. */
  alone<T>(work: (ask: Ask) => Promise<T>): Promise<T>;
  /** Statements that commit together. Done again after a deadlock: `work` must begin anew each time. */
  together<T>(work: (ask: Ask) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** As errors name it. */
const SERVER = 'MySQL';
const CONNECT_TIME_MAX_MS = 5_000;
const BACKOFF_MIN_MS = 20;
const BACKOFF_MAX_MS = 1_000;
/** By then a session is taken for ended, in milliseconds. */
const IDLE_MAX_MS = 20_000;
/** A deadlock's victim is tried so often. */
const TRIES_MAX = 5;

/** What became of the connection. */
interface Lost {
  isBeforeCommit: boolean;
}

/** Makes a link; nothing is opened yet. */
export function createLink(options: LinkOptions): Link {
  let connection: Connection | undefined;
  let usedAt = 0;
  let turn: Promise<unknown> = Promise.resolve();
  let backoffMs = 0;
  let retryAt = 0;
  let lastFailure: unknown;
  let closed = false;

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = turn.then(work);
    turn = result.catch(() => undefined);
    return result;
  }

  async function connect(): Promise<Connection> {
    if (closed) throw new StoreError('The MySQL store is closed.', { applied: 'no' });
    if (connection !== undefined && (connection.isLost() || performance.now() - usedAt > IDLE_MAX_MS))
      drop(connection);
    if (connection !== undefined) return connection;
    if (performance.now() < retryAt) throw storeError(lastFailure, 'connect');
    let opening: Connection | undefined;
    try {
      opening = await openedWithin(options.open(), CONNECT_TIME_MAX_MS, SERVER, (late) => late.destroy());
      for (const statement of sessionStatements(options.lockWaitMaxS ?? 1))
        await within(opening.ask(statement), CONNECT_TIME_MAX_MS, SERVER);
      await within(checkSession(opening.ask), CONNECT_TIME_MAX_MS, SERVER);
      if (options.check) await within(options.check(opening.ask), CONNECT_TIME_MAX_MS, SERVER);
      connection = opening;
      backoffMs = 0;
      return opening;
    } catch (error) {
      opening?.destroy();
      backoffMs = Math.min(BACKOFF_MAX_MS, Math.max(BACKOFF_MIN_MS, backoffMs * 2));
      retryAt = performance.now() + backoffMs * (0.5 + options.random() / 2);
      lastFailure = error;
      throw storeError(error, 'connect');
    }
  }

  function drop(lost: Connection): void {
    if (connection === lost) connection = undefined;
    lost.destroy();
  }

  async function send(current: Connection, sql: string): Promise<Awaited<ReturnType<Ask>>> {
    try {
      return await within(current.ask(sql), options.replyTimeMaxMs, SERVER);
    } catch (error) {
      if (breaksConnection(error)) drop(current);
      throw error;
    } finally {
      usedAt = performance.now();
    }
  }

  function timeless<T>(work: (ask: Ask) => Promise<T>): Promise<T> {
    return inTurn(async () => {
      const current = await connect();
      return work(async (sql) => {
        try {
          return await send(current, sql);
        } catch (error) {
          throw storeError(error, 'statement');
        }
      });
    });
  }

  async function once<T>(work: (ask: Ask) => Promise<T>, lost: Lost): Promise<T> {
    const current = await connect();
    let committing = false;
    try {
      await send(current, BEGIN);
      const result = await work((sql) => send(current, sql));
      committing = true;
      await send(current, COMMIT);
      return result;
    } catch (error) {
      // Also after a lock wait that timed out, which undoes its statement only (innodb_rollback_on_timeout).
      if (connection === current) await send(current, ROLLBACK).catch(() => drop(current));
      // Before COMMIT was sent nothing can have been applied, whatever became of the connection.
      lost.isBeforeCommit = !committing && connection !== current;
      if (!committing && !isConflict(error)) throw storeError(error, 'connect');
      throw storeError(error, 'commit');
    }
  }

  return {
    timeless,
    async alone(work) {
      // Before its turn: the look may take its turn here too.
      await options.time.fresh();
      return timeless(work);
    },
    async together(work) {
      await options.time.fresh();
      let losses = 0;
      for (let tries = 1; ; tries += 1) {
        const lost: Lost = { isBeforeCommit: false };
        try {
          return await inTurn(() => once(work, lost));
        } catch (error) {
          if (lost.isBeforeCommit) losses += 1;
          if (lost.isBeforeCommit && losses === 1) continue;
          // A lock that was waited for in vain is told: waiting again would take longer than whoever asked does.
          if (!isConflict(error) || isLockWait(error) || tries === TRIES_MAX) throw error;
          await new Promise((resolve) => void setTimeout(resolve, options.random() * 5 * 2 ** tries));
        }
      }
    },
    async close() {
      closed = true;
      await turn;
      const last = connection;
      connection = undefined;
      if (last !== undefined)
        await within(last.end(), CONNECT_TIME_MAX_MS, SERVER).catch(() => last.destroy());
    },
  };
}
