/**
 * The user's SQLite client, seen through structural types only: `node:sqlite`, better-sqlite3 and libsql all fit. The
 * connection and its settings stay the user's; what we change for a statement of ours we put back.
 *
 * Invariant: a driver's error leaves this folder as a `StoreError` that says whether the write may have been applied.
 * Sources: https://sqlite.org/rescode.html, https://sqlite.org/pragma.html.
 */

import { InvariantError, SamekeyError, StoreError } from '../../core/errors.ts';
import type { ColumnValue, Row } from '../sql/record-row.ts';

/** A prepared statement of any of the three clients. */
export interface SqliteStatement {
  all(...values: ColumnValue[]): unknown[];
  get(...values: ColumnValue[]): unknown;
  run(...values: ColumnValue[]): { readonly changes: number | bigint };
}

/** An open connection of any of the three clients. */
export interface SqliteDatabase {
  prepare(sql: string): SqliteStatement;
  exec(sql: string): unknown;
  /** Whether a transaction is open: better-sqlite3 and libsql … */
  readonly inTransaction?: boolean;
  /** … and `node:sqlite` from Node 22.16 on. */
  readonly isTransaction?: boolean;
}

/** The client with its statements prepared once. */
export interface Connection {
  readonly database: SqliteDatabase;
  get(sql: string, ...values: ColumnValue[]): Row | undefined;
  all(sql: string, ...values: ColumnValue[]): Row[];
  /** Returns how many rows changed. */
  run(sql: string, ...values: ColumnValue[]): number;
  exec(sql: string): void;
  /** The first column of a PRAGMA. Never from the cache: several pragmas are computed when prepared. */
  pragma(text: string): unknown;
  /** Undefined when the client cannot tell. */
  inTransaction(): boolean | undefined;
  /**
   * Runs `body` with a busy timeout of 0, then puts the user's back: waiting inside SQLite would stop the event loop.
   */
  withoutWaiting<T>(body: () => T): T;
  /** Forgets the prepared statements. */
  clear(): void;
}

/** The switches by which users make clients return other shapes of rows; ours are set back per statement. */
interface Shapes {
  setReturnArrays?(on: boolean): unknown;
  setReadBigInts?(on: boolean): unknown;
}

/** Wraps a client. */
export function createConnection(database: SqliteDatabase): Connection {
  const statements = new Map<string, SqliteStatement>();

  function prepared(sql: string): SqliteStatement {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = plain(database.prepare(sql));
      statements.set(sql, statement);
    }
    return statement;
  }

  function pragma(text: string): unknown {
    const row = plain(database.prepare(`PRAGMA ${text}`)).get() as Row | undefined;
    return row === undefined ? undefined : Object.values(row)[0];
  }

  return {
    database,
    get: (sql, ...values) => prepared(sql).get(...values) as Row | undefined,
    all: (sql, ...values) => prepared(sql).all(...values) as Row[],
    run: (sql, ...values) => Number(prepared(sql).run(...values).changes),
    exec: (sql) => void database.exec(sql),
    pragma,
    inTransaction: () => database.isTransaction ?? database.inTransaction,
    withoutWaiting(body) {
      const timeout = Number(pragma('busy_timeout'));
      if (timeout === 0) return body();
      database.exec('PRAGMA busy_timeout = 0');
      try {
        return body();
      } finally {
        database.exec(`PRAGMA busy_timeout = ${timeout}`);
      }
    },
    clear: () => statements.clear(),
  };
}

function plain(statement: SqliteStatement & Shapes): SqliteStatement {
  statement.setReturnArrays?.(false);
  statement.setReadBigInts?.(false);
  return statement;
}

/** Primary result codes by name; https://sqlite.org/rescode.html#result_code_list. */
const CODES: Readonly<Record<string, number>> = {
  ERROR: 1,
  PERM: 3,
  BUSY: 5,
  LOCKED: 6,
  NOMEM: 7,
  READONLY: 8,
  IOERR: 10,
  CORRUPT: 11,
  FULL: 13,
  CANTOPEN: 14,
  PROTOCOL: 15,
  TOOBIG: 18,
  CONSTRAINT: 19,
  MISMATCH: 20,
  NOTADB: 26,
};

/** The primary result code of a driver's error; undefined if it has none. */
export function resultCode(error: unknown): number | undefined {
  const { errcode, rawCode, code } = (error ?? {}) as {
    errcode?: unknown;
    rawCode?: unknown;
    code?: unknown;
  };
  const raw = errcode ?? rawCode;
  // Extended codes keep the primary one in the low byte; https://sqlite.org/rescode.html#pve.
  if (typeof raw === 'number') return raw & 0xff;
  const name = typeof code === 'string' ? /^SQLITE_([A-Z]+)/.exec(code)?.[1] : undefined;
  return name === undefined ? undefined : CODES[name];
}

/** Whether the statement did nothing because somebody else is at work on the file or on this connection. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  // PROTOCOL: too many processes raced for the lock at the start of WAL; SQLite's advice is to try again.
  if (code === CODES['BUSY'] || code === CODES['LOCKED'] || code === CODES['PROTOCOL']) return true;
  // The user's own open transaction, or (better-sqlite3) an open iterator, on this very connection.
  const message = error instanceof Error ? error.message : '';
  return /within a transaction|inside a transaction|connection is busy/.test(message);
}

/** What to do about it, and whether trying again later can help without touching the request. */
const REMEDIES: Readonly<Record<number, readonly [message: string, transient: boolean]>> = {
  [1]: [
    'the statement was refused: if the tables are missing, run `await store.migrate()`, or `npx samekey migrate` of @samekey/cli',
    true,
  ],
  [3]: ['access was denied: check the owner and mode of the file and its folder', true],
  [5]: ['the database is locked by another process: keep its transactions short', true],
  [7]: ['memory ran out', true],
  [8]: ['the database is read-only: check the file, its folder, the mount and PRAGMA query_only', true],
  [10]: ['reading or writing the file failed: check the disk and the kernel log', true],
  [11]: ['the file is damaged: stop writing to it and restore a backup', true],
  [13]: ['the disk is full: free space', true],
  [14]: ['the file or its -wal companion cannot be opened: check path and folder', true],
  [18]: ['the answer is larger than SQLite holds in one row', false],
  [19]: ['a value breaks a constraint of the table', false],
  [20]: ['a value has a type the column does not take', false],
  [26]: ['the file is not an SQLite database: check the path', true],
};

/** libsql leaves a RETURNING statement open when it is given to `run()`; until it is collected, no COMMIT succeeds. */
const STATEMENT_OPEN = [
  'a write statement of the application is still open on this connection: read it to its end, and with libsql give ' +
    'RETURNING statements to get() or all(), never to run()',
  true,
] as const;

function isStatementOpen(error: unknown): boolean {
  return error instanceof Error && error.message.includes('SQL statements in progress');
}

/** The `StoreError` for a driver's error; our own errors pass as they are. */
export function storeError(error: unknown, applied: 'no' | 'unknown' = 'no'): SamekeyError {
  if (error instanceof SamekeyError) return error;
  const code = resultCode(error) ?? 0;
  const [message, transient] = isStatementOpen(error)
    ? STATEMENT_OPEN
    : (REMEDIES[code] ?? ['see the cause', true]);
  return new StoreError(`SQLite could not answer (result code ${code}): ${message}.`, {
    applied,
    transient,
    cause: error,
  });
}

/**
 * What a failed COMMIT leaves. BUSY keeps the transaction open, so that rolling it back proves it void. FULL is a
 * failed write to the WAL, whose last frame carries the commit mark: the mark is missing, and no recovery can bring the
 * rows back (a build that pads the WAL to sectors, psow=0, could; the worst that follows is an answer where a 503 was
 * sent). Any other failure, above all a failed fsync, may leave a complete commit in the WAL that the next recovery
 * finds: only repeating the write can tell. https://sqlite.org/walformat.html
 */
export function commitApplied(error: unknown): 'no' | 'unknown' {
  const code = resultCode(error);
  return code === CODES['BUSY'] || code === CODES['FULL'] ? 'no' : 'unknown';
}

/** Exactly one row must have changed: it was read under the same lock. */
export function expectOne(changes: number, what: string): void {
  if (changes !== 1)
    throw new InvariantError(`the ${what} of a record read under the same lock changed ${changes} rows`);
}
