/** Samekey's tables in MySQL or MariaDB, by the store itself. */

import { createConnection } from 'mysql2/promise';
import { mysqlMigrations, mysqlStore } from 'samekey/stores/mysql';
import type { DatabaseSchema } from './schema.ts';

/** A server that does not answer at all is a fault to be told, not to be waited for. */
const CONNECT_TIME_MAX_MS = 10_000;

/** Opens nothing before it is asked. */
export function mysqlSchema(uri: string): DatabaseSchema {
  return mysqlStore({ connect: () => createConnection({ uri, connectTimeout: CONNECT_TIME_MAX_MS }) });
}

/** The SQL. Nothing to do is no text: the table of the version alone is no migration. */
export function mysqlSql(from: number): string {
  const sql = mysqlMigrations(from);
  return sql.includes('-- ') ? sql : '';
}
