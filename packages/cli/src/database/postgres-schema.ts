/** Samekey's tables in PostgreSQL, by the store itself: the command has no idea of its own of what they look like. */

import { Client } from 'pg';
import {
  type DistributedEngine,
  distributedMigrations,
  distributedPostgresStore,
  postgresMigrations,
  postgresStore,
} from 'samekey/stores/postgres';
import type { DatabaseSchema, PostgresChoices } from './schema.ts';

/** A server that does not answer at all is a fault to be told, not to be waited for. */
const CONNECT_TIME_MAX_MS = 10_000;
/** Looking is slower on a server under load than the store's own limit for requests allows. */
const STATEMENT_TIME_MAX_MS = 30_000;

/** Opens nothing before it is asked. Throws `OptionsError` for a schema or an engine that cannot be one. */
export function postgresSchema(url: string, choices: PostgresChoices): DatabaseSchema {
  const options = {
    connect: () => new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIME_MAX_MS }),
    statementTimeMaxMs: STATEMENT_TIME_MAX_MS,
  };
  const { engine, schema } = choices;
  if (engine === undefined) return postgresStore({ ...options, ...given(choices) });
  return distributedPostgresStore({
    ...options,
    engine: engine as DistributedEngine,
    ...(schema === undefined ? {} : { schema }),
  });
}

/** The SQL. A schema other than `public` must be there before it runs, which a comment says. */
export function postgresSql(choices: PostgresChoices, from: number): string {
  const { schema, engine } = choices;
  const sql =
    engine === undefined
      ? postgresMigrations({ from, ...given(choices) })
      : distributedSql(engine as DistributedEngine, schema, from);
  if (sql === '' || schema === undefined || schema === 'public' || from > 0) return sql;
  return `-- First, if it is not there: CREATE SCHEMA "${schema}";\n${sql}`;
}

function distributedSql(engine: DistributedEngine, schema: string | undefined, from: number): string {
  return from > 0 ? '' : distributedMigrations({ engine, ...(schema === undefined ? {} : { schema }) });
}

function given({ schema, auditTransitions, partitions }: PostgresChoices): {
  readonly schema?: string;
  readonly partitions?: number;
  readonly auditTransitions?: boolean;
} {
  return {
    ...(schema === undefined ? {} : { schema }),
    ...(auditTransitions === undefined ? {} : { auditTransitions }),
    ...(partitions === undefined ? {} : { partitions }),
  };
}
