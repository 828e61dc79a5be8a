/** What an operator has of an open database, whatever its kind, and how long it may take to answer. */

import type { Store } from 'samekey';
import type { MysqlStore } from 'samekey/stores/mysql';
import type { PostgresStore } from 'samekey/stores/postgres';
import type { SqliteStore } from 'samekey/stores/sqlite';
import type { SqlAddress } from './address.ts';

/** A row by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>;

/** An open database. */
export interface OpenDatabase {
  readonly address: SqlAddress;
  readonly store: (PostgresStore | SqliteStore | MysqlStore) & Store;
  /** Its clock, in milliseconds since 1970; where it has none, this machine's. */
  readonly now: () => Promise<number>;
  /** Reads beside the store; parameters as `$1` on PostgreSQL, `?` elsewhere. */
  readonly query: (sql: string, values?: readonly (string | number)[]) => Promise<readonly Row[]>;
  close(): Promise<void>;
}

/** An open store without tables: nothing can be asked beside it. */
export interface OpenStore {
  readonly store: Store;
  /** Its clock, in milliseconds since 1970; where it has none, this machine's. */
  readonly now: () => Promise<number>;
  readonly close: () => Promise<void>;
}

/** A server that does not answer at all is a fault to be told, not to be waited for. */
export const CONNECT_TIME_MAX_MS = 10_000;

/** An operator's look at a large table takes longer than a request may. */
export const STATEMENT_TIME_MAX_MS = 30_000;
