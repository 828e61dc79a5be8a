/**
 * One database, opened for an operator: the store in it, and a way to look beside it. The store is the library's own, so what
 * the command does is what an application would do. Each kind is a module of its own, loaded with its driver when it is needed.
 *
 * Invariants: opening changes nothing and makes no file · `query` only reads · a table that is not there is told with the command
 * that makes it.
 */

import type { Store } from 'samekey';
import type { MysqlStore } from 'samekey/stores/mysql';
import type { PostgresStore } from 'samekey/stores/postgres';
import type { SqliteStore } from 'samekey/stores/sqlite';
import { CliError } from '../cli-error.ts';
import type { Address } from './address.ts';

/** A row by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>;

/** An open database. */
export interface OpenDatabase {
  readonly address: Address;
  readonly store: (PostgresStore | SqliteStore | MysqlStore) & Store;
  /** Its clock, in milliseconds since 1970; where it has none, this machine's. */
  readonly now: () => Promise<number>;
  /** Reads beside the store; parameters as `$1` on PostgreSQL, `?` elsewhere. */
  readonly query: (sql: string, values?: readonly (string | number)[]) => Promise<readonly Row[]>;
  close(): Promise<void>;
}

/** A server that does not answer at all is a fault to be told, not to be waited for. */
export const CONNECT_TIME_MAX_MS = 10_000;
/** An operator's look at a large table takes longer than a request may. */
export const STATEMENT_TIME_MAX_MS = 30_000;

/** Opens it. Throws `CliError` where there is nothing to open. */
export async function openDatabase(address: Address, schema: string | undefined): Promise<OpenDatabase> {
  if (address.kind === 'postgres') {
    const { openPostgres } = await import('./open-postgres.ts');
    return openPostgres(address, address.url, schema);
  }
  if (schema !== undefined) throw new CliError('--schema goes with PostgreSQL; others have no schemas.');
  if (address.kind === 'mysql') {
    const { openMysql } = await import('./open-mysql.ts');
    return openMysql(address, address.url);
  }
  const { openSqlite } = await import('./open-sqlite.ts');
  return openSqlite(address, address.path);
}
