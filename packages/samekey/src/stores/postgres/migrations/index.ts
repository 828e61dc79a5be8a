/**
 * The schema's versions, in order. A migration expands; the one that contracts comes a version later and raises
 * `minReader`, the oldest code that can still work: code N runs on schemas N and N+1 (contract §10.2).
 */

import { anything, readOptions, type Table, text, trueOrFalse, wholeNumber } from '../../../core/options.ts';
import { noTransitionStatements, transitionStatements } from '../transitions.ts';
import { printedService } from '../../../store/identity.ts';
import { identityStatement } from '../identity.ts';
import { createTables, type Tables } from '../tables.ts';
import { inPartitions } from './partitions.ts';
import { allTables } from './0001-tables.ts';
import type { Migration } from './migration.ts';

/** All migrations, by number. */
export const MIGRATIONS: readonly Migration[] = [allTables];

/** The schema version that migrations lead to. */
export function versionAfter(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.number ?? 0;
}

/** The version this code needs. */
export const SCHEMA_VERSION: number = versionAfter(MIGRATIONS);

/**
 * How long a migration waits for a lock, in milliseconds. Every statement on the table queues up behind it meanwhile,
 * and those of the store give up after 1,500.
 */
export const LOCK_TIME_MAX_MS = 500;

/**
 * What a migration runs in its transaction, its bookkeeping included; `partitions` of the records, 0 for a table
 * without.
 */
export function migrationStatements(
  migration: Migration,
  tables: Tables,
  partitions: number = 0,
): readonly string[] {
  return [
    ...inPartitions(migration.statements(tables), tables, partitions),
    `UPDATE ${tables.meta} SET value = ${migration.number} WHERE name = 'schema_version'`,
    `UPDATE ${tables.meta} SET value = greatest(value, ${migration.minReader}) WHERE name = 'min_reader'`,
  ];
}

interface PostgresMigrationsOptions {
  /** Not needed with a `from`: whose the tables are stands in them. */
  readonly service?: string;
  /** Default `public`. */
  readonly schema?: string;
  /** The version that is there; default 0. */
  readonly from?: number;
  /** `true`: also the triggers that audit transitions; `false`: what removes them. */
  readonly auditTransitions?: boolean;
  /** As given to `postgresStore`; default 0. */
  readonly partitions?: number;
}

const ROWS = {
  service: anything<string>(),
  schema: text('public'),
  from: wholeNumber(0, undefined, 0),
  auditTransitions: trueOrFalse(),
  partitions: wholeNumber(0, undefined, 0),
} satisfies Table<PostgresMigrationsOptions>;

/**
 * The migrations after version `from` as SQL text, for teams that run schema changes with a tool of their own. The
 * schema itself must be there; `service` and `schema` as given to `postgresStore`. Throws `OptionsError` for a name
 * that cannot be one.
 */
export function postgresMigrations(options: PostgresMigrationsOptions = {}): string {
  const own = readOptions('postgresMigrations', ROWS, options);
  const { auditTransitions, from, partitions, service } = own;
  const tables = createTables(own.schema, 'clock_timestamp()');
  const steps = MIGRATIONS.filter(({ number }) => number > from).map((migration) => {
    const title = `-- ${String(migration.number).padStart(4, '0')} ${migration.name}`;
    const indexes = Object.entries(migration.indexes?.(tables) ?? {}).map(
      // On a table in partitions none can be built so; the table is empty then.
      ([name, definition]) =>
        `CREATE INDEX ${partitions === 0 ? 'CONCURRENTLY ' : ''}IF NOT EXISTS ${name} ${definition};\n`,
    );
    return `${title}\n${transaction(migrationStatements(migration, tables, partitions))}${indexes.join('')}`;
  });
  if (from === 0) {
    const whose = identityStatement(tables.meta, printedService('postgresMigrations', service), false);
    steps.push(`-- whose the tables are\n${transaction([whose])}`);
  }
  if (auditTransitions === true) {
    steps.push(`-- audit transitions\n${transaction(transitionStatements(tables))}`);
  } else if (auditTransitions === false) {
    steps.push(`-- no audit of transitions\n${transaction(noTransitionStatements(tables))}`);
  }
  return steps.join('');
}

function transaction(statements: readonly string[]): string {
  return `BEGIN;\nSET LOCAL lock_timeout = '${LOCK_TIME_MAX_MS}ms';\n${statements.join(';\n')};\nCOMMIT;\n`;
}
