/**
 * The schema's versions, in order. A migration expands; the one that contracts comes a version later and raises
 * `minReader`, the oldest code that can still work. MySQL commits each statement of a schema by itself, so each of a
 * migration's can be run again.
 */

import { anything, readOptions, type Table, trueOrFalse, wholeNumber } from '../../../core/options.ts';
import { printedService } from '../../../store/identity.ts';
import { identityStatement } from '../identity.ts';
import { noTransitionStatements, transitionStatements } from '../transitions.ts';
import { createTables, SERVER_CLOCK, type Tables } from '../tables.ts';
import { tables } from './0001-tables.ts';
import type { Migration } from './migration.ts';

/** All migrations, by number. */
export const MIGRATIONS: readonly Migration[] = [tables];

/** The version this code needs. */
export const SCHEMA_VERSION: number = MIGRATIONS.at(-1)?.number ?? 0;

/** What makes the table that the version is kept in. */
export function metaStatement({ meta }: Tables): string {
  return `CREATE TABLE IF NOT EXISTS ${meta} (name VARBINARY(64) NOT NULL PRIMARY KEY, value BIGINT NOT NULL, label VARBINARY(64)) ENGINE = InnoDB`;
}

/** What a migration runs, its bookkeeping included. */
export function migrationStatements(migration: Migration, names: Tables): readonly string[] {
  return [
    ...migration.statements(names),
    `INSERT INTO ${names.meta} (name, value) VALUES ('schema_version', ${migration.number}), ('min_reader', ${migration.minReader}) ` +
      'ON DUPLICATE KEY UPDATE value = GREATEST(value, VALUES(value))',
  ];
}

interface MysqlMigrationsOptions {
  /** Not needed with a `from`: whose the tables are stands in them. */
  readonly service?: string;
  /** The version that is there; default 0. */
  readonly from?: number;
  /** `true`: also the triggers that audit transitions; `false`: what removes them. */
  readonly auditTransitions?: boolean;
}

const ROWS = {
  service: anything<string>(),
  from: wholeNumber(0, undefined, 0),
  auditTransitions: trueOrFalse(),
} satisfies Table<MysqlMigrationsOptions>;

/**
 * The migrations after version `from` as SQL text, for teams that run schema changes with a tool of their own; nothing
 * to do is no text. `service` as given to `mysqlStore`. Throws `OptionsError`.
 */
export function mysqlMigrations(options: MysqlMigrationsOptions = {}): string {
  const { service, from, auditTransitions } = readOptions('mysqlMigrations', ROWS, options);
  const names = createTables(undefined, SERVER_CLOCK);
  const parts = MIGRATIONS.filter(({ number }) => number > from).map(
    (migration) =>
      `-- ${String(migration.number).padStart(4, '0')} ${migration.name}\n${migrationStatements(migration, names).join(';\n')};\n`,
  );
  if (parts.length > 0) parts.unshift(`${metaStatement(names)};\n`);
  if (from === 0) {
    const whose = identityStatement(names, printedService('mysqlMigrations', service), false);
    parts.push(`-- whose the tables are\n${whose};\n`);
  }
  if (auditTransitions === true)
    parts.push(`-- audit transitions\n${transitionStatements(names).join(';\n')};\n`);
  else if (auditTransitions === false)
    parts.push(`-- no audit of transitions\n${noTransitionStatements(names).join(';\n')};\n`);
  return parts.join('');
}
