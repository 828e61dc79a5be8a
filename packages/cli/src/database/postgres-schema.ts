/** Samekey's tables in PostgreSQL, by the store itself: the command has no idea of its own of what they look like. */

import { Client } from 'pg';
import { postgresMigrations, postgresStore } from 'samekey/stores/postgres';
import type { DatabaseSchema, PostgresChoices } from './schema.ts';

/** A server that does not answer at all is a fault to be told, not to be waited for. */
const CONNECT_TIME_MAX_MS = 10_000;
/** Looking is slower on a server under load than the store's own limit for requests allows. */
const STATEMENT_TIME_MAX_MS = 30_000;

/** Opens nothing before it is asked. Throws `OptionsError` for a schema that cannot be one. */
export function postgresSchema(url: string, choices: PostgresChoices): DatabaseSchema {
  return postgresStore({
    connect: () => new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIME_MAX_MS }),
    statementTimeMaxMs: STATEMENT_TIME_MAX_MS,
    ...given(choices),
  });
}

/** The SQL. A schema other than `public` must be there before it runs, which a comment says. */
export function postgresSql(choices: PostgresChoices, from: number): string {
  const { schema } = choices;
  const sql = postgresMigrations({ from, ...given(choices) });
  if (sql === '' || schema === undefined || schema === 'public' || from > 0) return sql;
  return `-- First, if it is not there: CREATE SCHEMA "${schema}";\n${sql}`;
}

function given({ schema, auditTransitions }: PostgresChoices): {
  readonly schema?: string;
  readonly auditTransitions?: boolean;
} {
  return {
    ...(schema === undefined ? {} : { schema }),
    ...(auditTransitions === undefined ? {} : { auditTransitions }),
  };
}
