/**
 * The schema's versions, in order. A migration expands; the one that contracts comes a version later and raises
 * `minReader`, the oldest code that can still work: code N runs on schemas N and N+1 (contract §10.2).
 */

import { anything, readOptions, type Table, wholeNumber } from '../../../core/options.ts';
import { printedService } from '../../../store/identity.ts';
import { identityStatement } from '../identity.ts';
import { tables } from './0001-tables.ts';
import type { Migration } from './migration.ts';

/** All migrations, by number. */
export const MIGRATIONS: readonly Migration[] = [tables];

/** The version this code needs. */
export const SCHEMA_VERSION: number = MIGRATIONS.at(-1)?.number ?? 0;

/** What a migration runs, its bookkeeping included. */
export function migrationStatements(migration: Migration): readonly string[] {
  return [
    ...migration.statements,
    `INSERT INTO samekey_meta (name, value) VALUES ('schema_version', ${migration.number})
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    `UPDATE samekey_meta SET value = max(value, ${migration.minReader}) WHERE name = 'min_reader'`,
  ];
}

interface SqliteMigrationsOptions {
  /** Not needed with a `from`: whose the file is stands in it. */
  readonly service?: string;
  /** The version that is there; default 0. */
  readonly from?: number;
}

const ROWS = {
  service: anything<string>(),
  from: wholeNumber(0, undefined, 0),
} satisfies Table<SqliteMigrationsOptions>;

/**
 * The migrations after version `from` as SQL text, for teams that run schema changes with a tool of their own;
 * `service` as given to `sqliteStore`. Throws `OptionsError` for a name that cannot be one.
 */
export function sqliteMigrations(options: SqliteMigrationsOptions = {}): string {
  const { service, from } = readOptions('sqliteMigrations', ROWS, options);
  const parts = MIGRATIONS.filter(({ number }) => number > from).map(
    (migration) =>
      `-- ${String(migration.number).padStart(4, '0')} ${migration.name}\n` +
      `BEGIN IMMEDIATE;\n${migrationStatements(migration).join(';\n')};\nCOMMIT;\n`,
  );
  if (from === 0) {
    const whose = identityStatement(printedService('sqliteMigrations', service), false);
    parts.push(`-- whose the file is\nBEGIN IMMEDIATE;\n${whose};\nCOMMIT;\n`);
  }
  return `PRAGMA journal_mode = WAL;\n${parts.join('')}`;
}
