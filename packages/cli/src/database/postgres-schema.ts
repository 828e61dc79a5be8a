/** Samekey's tables in PostgreSQL, by the store itself: the command has no idea of its own of what they look like. */

import { Client } from 'pg';
import { postgresMigrations, postgresStore } from 'samekey/stores/postgres';
import {
  type DistributedEngine,
  distributedMigrations,
  distributedPostgresStore,
} from 'samekey/stores/postgres/distributed';
import {
  ANY_SERVICE,
  type DatabaseSchema,
  type SchemaChoices,
  type SchemaKind,
  schemaOf,
} from './database-schema.ts';

/** Its tables. */
export const postgresTables: SchemaKind = { open: postgresSchema, sql: postgresSql };

/** A server that does not answer at all is a fault to be told, not to be waited for. */
const CONNECT_TIME_MAX_MS = 10_000;
/** Looking is slower on a server under load than the store's own limit for requests allows. */
const STATEMENT_TIME_MAX_MS = 30_000;

/** Opens nothing before it is asked. Throws `OptionsError` for a schema or an engine that cannot be one. */
function postgresSchema(url: string, choices: SchemaChoices): DatabaseSchema {
  const options = {
    connect: () => new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIME_MAX_MS }),
    statementTimeMaxMs: STATEMENT_TIME_MAX_MS,
  };
  const { engine, schema } = choices;
  const storeOf = (service: string): DatabaseSchema =>
    engine === undefined
      ? postgresStore({ service, ...options, ...given(choices) })
      : distributedPostgresStore({
          service,
          ...options,
          engine: engine as DistributedEngine,
          ...(schema === undefined ? {} : { schema }),
        });
  return schemaOf(storeOf(ANY_SERVICE), storeOf(choices.service ?? ANY_SERVICE));
}

/** The SQL. A schema other than `public` must be there before it runs, which a comment says. */
function postgresSql(choices: SchemaChoices, from: number): string {
  const { service, schema, engine } = choices;
  const sql =
    engine === undefined
      ? postgresMigrations({ from, ...(service === undefined ? {} : { service }), ...given(choices) })
      : distributedSql(engine as DistributedEngine, choices, from);
  if (sql === '' || schema === undefined || schema === 'public' || from > 0) return sql;
  return `-- First, if it is not there: CREATE SCHEMA "${schema}";\n${sql}`;
}

function distributedSql(engine: DistributedEngine, { service, schema }: SchemaChoices, from: number): string {
  if (from > 0) return '';
  // A name that is missing is told there.
  return distributedMigrations({
    service: service ?? '',
    engine,
    ...(schema === undefined ? {} : { schema }),
  });
}

function given({ schema, auditTransitions, partitions }: SchemaChoices): {
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
