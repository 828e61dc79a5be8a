/**
 * Brings the schema up to date, and checks at start that tables and settings are what the code needs. Migrating is safe
 * when twenty processes start at once: each takes the write lock, looks, and applies what is missing, in one
 * transaction.
 *
 * Invariant: code never runs on a schema it cannot work with; a newer schema is accepted as long as its `min_reader`
 * allows it.
 */

import { SchemaError } from '../../core/errors.ts';
import { belongsTo, ownerToWrite, serviceFlag } from '../../store/identity.ts';
import { number } from '../sql/record-row.ts';
import { identityStatement, PLACE, readIdentity } from './identity.ts';
import { MIGRATIONS, migrationStatements, SCHEMA_VERSION } from './migrations/index.ts';
import type { Connection } from './client.ts';
import { checkTables } from './shape.ts';
import type { Writer } from './writer.ts';

/** Twenty processes that start together take their turns well within this. */
const MIGRATE_TIME_MAX_MS = 60_000;

/** What a migration is told. */
interface MigrateOptions {
  readonly inMemory: boolean;
  readonly service: string;
  /** Makes the file this service's, whoever's it was, and one with a name of its own. */
  readonly newIdentity: boolean;
}

/** Applies the missing migrations, writes down whose the file is, and switches it to WAL. */
export async function migrate(
  connection: Connection,
  writer: Writer,
  { inMemory, service, newIdentity }: MigrateOptions,
): Promise<void> {
  await writer.read(() => ownerOf(connection, service, newIdentity));
  // The mode is kept in the file; switching needs the file for itself for a moment.
  if (!inMemory) await writer.alone(() => connection.pragma('journal_mode = WAL'), MIGRATE_TIME_MAX_MS);
  await writer.write(() => {
    const found = schemaVersion(connection);
    checkReadable(found);
    const owner = ownerOf(connection, service, newIdentity);
    for (const migration of MIGRATIONS) {
      if (migration.number <= found.version) continue;
      for (const statement of migrationStatements(migration)) connection.exec(statement);
    }
    if (owner !== null) connection.exec(identityStatement(owner, newIdentity));
  }, MIGRATE_TIME_MAX_MS);
}

/** Whom a migration must write down; null where it stands already. Throws `SchemaError` when it may not go on. */
function ownerOf(connection: Connection, service: string, newIdentity: boolean): string | null {
  const found = schemaVersion(connection).version === 0 ? null : readIdentity(connection);
  return ownerToWrite(service, found, newIdentity, PLACE);
}

/** Throws `SchemaError` when the database is not fit for the store, or another service's. */
export function checkDatabase(connection: Connection, inMemory: boolean, service: string): void {
  const found = schemaVersion(connection);
  checkReadable(found);
  if (found.version < SCHEMA_VERSION) {
    const state = found.version === 0 ? 'has no Samekey tables' : `has schema version ${found.version}`;
    throw new SchemaError(
      `The SQLite database ${state}, version ${SCHEMA_VERSION} is needed: run \`await store.migrate()\`, or \`npx samekey migrate${serviceFlag(service)}\` of @samekey/cli.`,
    );
  }
  belongsTo(service, readIdentity(connection), PLACE);
  checkUnique(connection);
  checkTables(connection, found.version > SCHEMA_VERSION);
  if (inMemory) return;
  const mode = String(connection.pragma('journal_mode'));
  if (mode !== 'wal') {
    throw new SchemaError(
      `The SQLite database is in journal mode "${mode}": run \`await store.migrate()\`, or \`npx samekey migrate\` of @samekey/cli, or PRAGMA journal_mode = WAL.`,
    );
  }
  const synchronous = Number(connection.pragma('synchronous'));
  if (synchronous < 2) {
    throw new SchemaError(
      `The SQLite connection has synchronous = ${synchronous}, which may lose acknowledged records at a power cut: ` +
        'run PRAGMA synchronous = FULL on it, and let nothing set it back.',
    );
  }
}

/** How far the schema is. */
export interface SqliteSchemaStatus {
  /** The version found; 0 when there are no tables. */
  readonly version: number;
  /** The version this code needs. */
  readonly needed: number;
  /** What `migrate()` would do, by name. */
  readonly missing: readonly string[];
}

/** Reads it, and changes nothing. */
export function schemaStatus(connection: Connection, inMemory: boolean): SqliteSchemaStatus {
  const { version } = schemaVersion(connection);
  const missing = MIGRATIONS.filter((migration) => migration.number > version).map(({ name }) => name);
  const isWal = inMemory || String(connection.pragma('journal_mode')) === 'wal';
  return { version, needed: SCHEMA_VERSION, missing: isWal ? missing : [...missing, 'journal mode WAL'] };
}

interface SchemaState {
  readonly version: number;
  readonly minReader: number;
}

function schemaVersion(connection: Connection): SchemaState {
  const exists = connection.get(
    `SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?`,
    'samekey_meta',
  );
  if (exists === undefined) return { version: 0, minReader: 0 };
  const read = (name: string): number =>
    number(connection.get('SELECT value FROM samekey_meta WHERE name = ?', name)?.['value'] ?? 0);
  return { version: read('schema_version'), minReader: read('min_reader') };
}

function checkReadable({ version, minReader }: SchemaState): void {
  if (minReader <= SCHEMA_VERSION) return;
  throw new SchemaError(
    `The SQLite database has schema version ${version}, which needs code for version ${minReader} or later; ` +
      `this is version ${SCHEMA_VERSION}: update samekey in this process.`,
  );
}

/** One row per (scope, key), compared byte by byte (F35), and for all rows. */
function checkUnique(connection: Connection): void {
  const columns = connection.all(
    `SELECT l.name AS name, x.name AS column, x.coll AS coll
     FROM pragma_index_list('samekey_records') AS l JOIN pragma_index_xinfo(l.name) AS x
     WHERE l."unique" = 1 AND l.partial = 0 AND x.key = 1 ORDER BY l.name, x.seqno`,
  );
  const indexes = new Map<string, string>();
  for (const { name, column, coll } of columns) {
    indexes.set(String(name), `${indexes.get(String(name)) ?? ''}${String(column)}:${String(coll)} `);
  }
  if ([...indexes.values()].includes('scope:BINARY key:BINARY ')) return;
  throw new SchemaError(
    'The table samekey_records has no unique index on (scope, key), so two requests could both run: ' +
      'restore the schema with the SQL that sqliteMigrations() prints.',
  );
}
