/** Samekey's tables in one database, whatever its kind: how far they are, and how they get further. */

import type { Address } from './address.ts';
import { mysqlSchema, mysqlSql } from './mysql-schema.ts';
import { postgresSchema, postgresSql } from './postgres-schema.ts';
import { sqliteSchema, sqliteSql } from './sqlite-schema.ts';

/** How far the tables are. */
export interface SchemaStatus {
  /** The version found; 0 when there are no tables. */
  readonly version: number;
  /** The version this command brings it to. */
  readonly needed: number;
  /** What is still to be done, by name. */
  readonly missing: readonly string[];
}

/** The tables of one open database. Expected failures are thrown as `SchemaError`, `StoreError` or `CliError`. */
export interface DatabaseSchema {
  status(): Promise<SchemaStatus>;
  migrate(): Promise<void>;
  /** Throws when an application could not start on it, and says what mends it. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** What only PostgreSQL has, and of `auditTransitions` also MySQL. */
export interface PostgresChoices {
  /** The schema; undefined is its default. */
  readonly schema: string | undefined;
  /** Whether triggers audit transitions; undefined leaves them as they are. */
  readonly auditTransitions: boolean | undefined;
  /** Another engine that speaks PostgreSQL: the tables are those of `distributedPostgresStore`. */
  readonly engine: string | undefined;
  /** In how many partitions the table of records is made; undefined: in none. */
  readonly partitions: number | undefined;
}

/** Opens it. */
export function openSchema(address: Address, choices: PostgresChoices): DatabaseSchema {
  if (address.kind === 'postgres') return postgresSchema(address.url, choices);
  return address.kind === 'mysql' ? mysqlSchema(address.url, choices) : sqliteSchema(address.path);
}

/** The migrations after version `from` as SQL; opens nothing. */
export function schemaSql(kind: Address['kind'], choices: PostgresChoices, from: number): string {
  if (kind === 'postgres') return postgresSql(choices, from);
  return kind === 'mysql' ? mysqlSql(choices, from) : sqliteSql(from);
}
