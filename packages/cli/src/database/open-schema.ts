/** Samekey's tables in one database, whatever its kind: how far they are, and how they get further. */

import type { SqlAddress } from './address.ts';
import type { DatabaseSchema, SchemaChoices, SchemaKind } from './database-schema.ts';

const KINDS: Readonly<Record<SqlAddress['kind'], () => Promise<SchemaKind>>> = {
  postgres: async () => (await import('./postgres-schema.ts')).postgresTables,
  mysql: async () => (await import('./mysql-schema.ts')).mysqlTables,
  sqlite: async () => (await import('./sqlite-schema.ts')).sqliteTables,
};

/** Opens it. */
export async function openSchema(address: SqlAddress, choices: SchemaChoices): Promise<DatabaseSchema> {
  const kind = await KINDS[address.kind]();
  return kind.open(address.kind === 'sqlite' ? address.path : address.url, choices);
}

/** The migrations after version `from` as SQL; opens nothing. */
export async function schemaSql(
  kind: SqlAddress['kind'],
  choices: SchemaChoices,
  from: number,
): Promise<string> {
  return (await KINDS[kind]()).sql(choices, from);
}
