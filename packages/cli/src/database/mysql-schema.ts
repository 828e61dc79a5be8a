/** Samekey's tables in MySQL or MariaDB, by the store itself. */

import { createConnection } from 'mysql2/promise';
import { mysqlMigrations, mysqlStore } from 'samekey/stores/mysql';
import {
  ANY_SERVICE,
  type DatabaseSchema,
  type SchemaChoices,
  type SchemaKind,
  schemaOf,
} from './database-schema.ts';

/** Its tables. */
export const mysqlTables: SchemaKind = { open: mysqlSchema, sql: mysqlSql };

/** A server that does not answer at all is a fault to be told, not to be waited for. */
const CONNECT_TIME_MAX_MS = 10_000;

/** Opens nothing before it is asked. */
function mysqlSchema(uri: string, choices: SchemaChoices): DatabaseSchema {
  const storeOf = (service: string): DatabaseSchema =>
    mysqlStore({
      service,
      connect: () => createConnection({ uri, connectTimeout: CONNECT_TIME_MAX_MS }),
      ...given(choices),
    });
  return schemaOf(storeOf(ANY_SERVICE), storeOf(choices.service ?? ANY_SERVICE));
}

/** The SQL. */
function mysqlSql(choices: SchemaChoices, from: number): string {
  return mysqlMigrations({ from, ...named(choices), ...given(choices) });
}

function named({ service }: SchemaChoices): { readonly service?: string } {
  return service === undefined ? {} : { service };
}

function given({ auditTransitions }: SchemaChoices): { readonly auditTransitions?: boolean } {
  return auditTransitions === undefined ? {} : { auditTransitions };
}
