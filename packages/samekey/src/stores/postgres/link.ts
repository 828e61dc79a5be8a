/**
 * One connection of the store's own: opened when first needed, opened again with backoff after a loss, one statement at
 * a time. Nothing but the store ever runs on it, so handlers that hold every connection of the pool hold up nothing
 * (F63).
 *
 * Session state is for speed only, never for correctness: a pooler in transaction mode hands each statement to another
 * session, and postgres.js reconnects without a word. What must hold (synchronous_commit, lock_timeout) is in each
 * statement. A pooler shows itself: the process the protocol named is not the one that answers. Then no session setting
 * is made (it would leak to other clients) and statements are not prepared by name, so each is planned for the table as
 * it is.
 *
 * What the server rolled back to let others through (40001, 40P01) is sent again, a bounded number of times, with
 * jitter.
 */

import { StoreError } from '../../core/errors.ts';
import type { Ask, Connection, SqlRow, SqlValue, Statement } from './client.ts';
import { breaksConnection, isConflict, storeError } from './errors.ts';
import { timedValues } from './statement-times.ts';
import type { ServerTime } from '../../store/time/server-time.ts';
import { openedWithin, within } from '../sql/opening.ts';

/** Settings of a link. */
export interface LinkOptions {
  open(): Promise<Connection>;
  /** Undefined: prepare unless a pooler is in between. */
  readonly prepare: boolean | undefined;
  /** Session settings, by name, for a direct connection. */
  readonly settings: Readonly<Record<string, string>>;
  /** A reply that takes longer counts as lost, and its connection with it; in milliseconds. */
  readonly replyTimeMaxMs: number;
  readonly random: () => number;
  /** Refuses a connection on which nothing may be done, before anything is. */
  check?(ask: Ask): Promise<unknown>;
  /** Codes that prove no rollback on this server, although they do on PostgreSQL; default none. */
  readonly doubted?: ReadonlySet<string>;
  /** What statements are told of the time; absent where none needs it. Who needs it in `together` looks beforehand. */
  readonly time?: ServerTime;
}

/** One connection, kept. */
export interface Link {
  readonly ask: Ask;
  /**
   * Statements that commit together, nobody else's in between. Done again after a conflict: `work` must begin anew each
   * time. Throws `StoreError`, and whatever `work` throws, after a rollback.
   */
  together<T>(work: (ask: Ask) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** As errors name it. */
const SERVER = 'PostgreSQL';
const CONNECT_TIME_MAX_MS = 5_000;
const BACKOFF_MIN_MS = 20;
const BACKOFF_MAX_MS = 1_000;
/** A conflict's victim is tried so often; all pauses together are less than a third of a second. */
const TRIES_MAX = 5;

interface Session {
  readonly connection: Connection;
  readonly pid: number | undefined;
  readonly prepare: boolean;
}

/** Makes a link; nothing is opened yet. */
export function createLink(options: LinkOptions): Link {
  let session: Session | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  let backoffMs = 0;
  let retryAt = 0;
  let lastFailure: unknown;
  let closed = false;

  /** One after the other: pg 9 refuses a query while another runs. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = turn.then(work);
    turn = result.catch(() => undefined);
    return result;
  }

  /** The pauses are no part of the turn: others go on meanwhile. */
  async function again<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await inTurn(work);
      } catch (error) {
        if (!isConflict(error) || tries === TRIES_MAX) throw error;
        await new Promise((resolve) => void setTimeout(resolve, options.random() * 5 * 2 ** tries));
      }
    }
  }

  async function send(
    current: Session,
    statement: Statement,
    values: readonly SqlValue[],
  ): Promise<readonly SqlRow[]> {
    try {
      const asked = current.connection.query(
        statement,
        timedValues(statement, values, options.time),
        current.prepare,
      );
      const { rows, pid } = await within(asked, options.replyTimeMaxMs, SERVER);
      // postgres.js has connected anew: the settings of the old session are gone.
      if (pid !== current.pid) session = await beginSession(current.connection);
      return rows;
    } catch (error) {
      if (session === current && breaksConnection(error)) drop(current);
      throw storeError(error, true, options.doubted);
    }
  }

  async function transaction<T>(work: (ask: Ask) => Promise<T>): Promise<T> {
    const current = session ?? (await connect());
    const ask: Ask = async (statement, values) => {
      const rows = await send(current, statement, values);
      if (session === current) return rows;
      throw new StoreError('The PostgreSQL connection changed inside a transaction.', { applied: 'unknown' });
    };
    await ask(BEGIN, []);
    try {
      const result = await work(ask);
      await ask(COMMIT, []);
      return result;
    } catch (error) {
      // Also after a COMMIT that failed: some engines then stay in the transaction.
      if (session === current) await send(current, ROLLBACK, []).catch(() => drop(current));
      throw error;
    }
  }

  async function connect(): Promise<Session> {
    if (closed) throw new StoreError('The PostgreSQL store is closed.', { applied: 'no' });
    if (performance.now() < retryAt) throw storeError(lastFailure, false);
    let connection: Connection | undefined;
    try {
      connection = await openedWithin(options.open(), CONNECT_TIME_MAX_MS, SERVER, (late) =>
        late.close().catch(() => undefined),
      );
      session = await within(beginSession(connection), CONNECT_TIME_MAX_MS, SERVER);
      backoffMs = 0;
      return session;
    } catch (error) {
      connection?.close().catch(() => undefined);
      backoffMs = Math.min(BACKOFF_MAX_MS, Math.max(BACKOFF_MIN_MS, backoffMs * 2));
      retryAt = performance.now() + backoffMs * (0.5 + options.random() / 2);
      lastFailure = error;
      throw storeError(error, false);
    }
  }

  async function beginSession(connection: Connection): Promise<Session> {
    const { rows, pid } = await connection.query(BACKEND_PID, [], false);
    // A driver that does not tell its process is not trusted either.
    const direct = pid !== undefined && Number(rows[0]?.[0]) === pid;
    if (direct && options.prepare !== false) {
      await connection.query(setSettings(options.settings), [], false);
    }
    await options.check?.(
      async (statement, values) => (await connection.query(statement, values, false)).rows,
    );
    return { connection, pid, prepare: options.prepare ?? direct };
  }

  function drop(lost: Session): void {
    session = undefined;
    // Waits for nothing: what hangs here would hang the next statement too.
    lost.connection.close().catch(() => undefined);
  }

  return {
    async ask(statement, values) {
      // Before its turn: the look may take its turn here too.
      if (statement.times?.length) await options.time?.fresh();
      return again(async () => send(session ?? (await connect()), statement, values));
    },
    together: (work) => again(() => transaction(work)),
    async close() {
      closed = true;
      await turn;
      const last = session;
      session = undefined;
      await last?.connection.close().catch(() => undefined);
    },
  };
}

const BEGIN: Statement = { name: 'samekey_begin', text: 'BEGIN' };
const COMMIT: Statement = { name: 'samekey_commit', text: 'COMMIT' };
const ROLLBACK: Statement = { name: 'samekey_rollback', text: 'ROLLBACK' };
const BACKEND_PID: Statement = { name: 'samekey_pid', text: 'SELECT pg_backend_pid()' };

function setSettings(settings: Readonly<Record<string, string>>): Statement {
  const calls = Object.entries(settings).map(([name, value]) => `set_config('${name}', '${value}', false)`);
  return { name: 'samekey_settings', text: `SELECT ${calls.join(', ')}` };
}
