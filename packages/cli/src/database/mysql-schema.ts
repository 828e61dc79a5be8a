/** Samekey's tables in MySQL or MariaDB, by the store itself. */

import { createConnection } from 'mysql2/promise';
import { mysqlMigrations, mysqlStore } from 'samekey/stores/mysql';
import type { DatabaseSchema, PostgresChoices } from './schema.ts';

/** A server that does not answer at all is a fault to be told, not to be waited for. */
const CONNECT_TIME_MAX_MS = 10_000;

/** Opens nothing before it is asked. */
export function mysqlSchema(uri: string, choices: PostgresChoices): DatabaseSchema {
  return mysqlStore({
    connect: () => createConnection({ uri, connectTimeout: CONNECT_TIME_MAX_MS }),
    ...given(choices),
  });
}

/** The SQL. */
export function mysqlSql(choices: PostgresChoices, from: number): string {
  return mysqlMigrations({ from, ...given(choices) });
}

function given({ auditTransitions }: PostgresChoices): { readonly auditTransitions?: boolean } {
  return auditTransitions === undefined ? {} : { auditTransitions };
}
