/**
 * Brings the schema up to date, and checks at start that server and tables are what the code needs. Safe when twenty
 * processes start at once: each holds a named lock while it looks and applies.
 */

import { SchemaError, StoreError } from '../../core/errors.ts';
import {
  belongsTo,
  identityOf,
  ownerToWrite,
  serviceFlag,
  type StoreIdentity,
} from '../../store/identity.ts';
import { number } from '../sql/record-row.ts';
import { identityStatement, isNoTable, PLACE } from './identity.ts';
import { bytesOf, decoded } from './literals.ts';
import { MIGRATIONS, metaStatement, migrationStatements, SCHEMA_VERSION } from './migrations/index.ts';
import type { Ask } from './client.ts';
import { errorNumberOf } from './errors.ts';
import { checkShapes, checkTablesThere } from './shape.ts';
import type { Tables } from './tables.ts';
import { checkTransitions, missingTransitions, switchTransitions } from './transitions.ts';

/** How far the schema is. */
export interface MysqlSchemaStatus {
  /** The version found; 0 when there are no tables. */
  readonly version: number;
  /** The version this code needs. */
  readonly needed: number;
  /** What `migrate()` would do, by name. */
  readonly missing: readonly string[];
}

/** Twenty processes that start together take their turns well within this, in seconds. */
const LOCK_WAIT_MAX_S = 60;

/** What a migration is told. */
interface MigrateOptions {
  readonly service: string;
  /** Makes the tables this service's, whoever's they were, and those of a database with a name of its own. */
  readonly newIdentity: boolean;
  /** Installs the triggers that audit transitions, or removes them; undefined: neither. */
  readonly auditTransitions: boolean | undefined;
}

/** Applies the missing migrations, and writes down whose the tables are. */
export async function migrate(
  ask: Ask,
  tables: Tables,
  { service, newIdentity, auditTransitions }: MigrateOptions,
): Promise<void> {
  // 64 characters at most. Not SHA1, which MySQL 9.6 and later do not have by themselves.
  const name = `CONCAT('samekey:', LEFT(SHA2(CONCAT(COALESCE(DATABASE(), ''), ${bytesOf(tables.meta)}), 256), 40))`;
  const [row] = await ask(`SELECT GET_LOCK(${name}, ${LOCK_WAIT_MAX_S})`);
  if (number(row?.[0] ?? 0) !== 1) {
    throw new StoreError(
      'Another process has been migrating the MySQL database for a minute: try again when it has ended.',
      {
        applied: 'no',
      },
    );
  }
  try {
    const found = await schemaVersion(ask, tables);
    checkReadable(found);
    const owner = ownerToWrite(service, found.identity, newIdentity, PLACE);
    if (found.version < SCHEMA_VERSION) await ask(metaStatement(tables));
    if (owner !== null) await ask(identityStatement(tables, owner, newIdentity));
    for (const migration of MIGRATIONS) {
      if (migration.number <= found.version) continue;
      for (const statement of migrationStatements(migration, tables)) await ask(statement);
    }
    if (auditTransitions !== undefined) await switchTransitions(ask, tables, auditTransitions);
  } finally {
    await ask(`SELECT RELEASE_LOCK(${name})`);
  }
}

/** Reads how far it is, and changes nothing. */
export async function schemaStatus(
  ask: Ask,
  tables: Tables,
  auditTransitions?: boolean,
): Promise<MysqlSchemaStatus> {
  const { version } = await schemaVersion(ask, tables);
  const missing = MIGRATIONS.filter((migration) => migration.number > version).map(({ name }) => name);
  const triggers = await missingTransitions(ask, tables, version, auditTransitions);
  return { version, needed: SCHEMA_VERSION, missing: [...missing, ...triggers] };
}

/** Throws `SchemaError` when the database is not fit for the store, or another service's. */
export async function checkDatabase(
  ask: Ask,
  tables: Tables,
  service: string,
  auditTransitions?: boolean,
): Promise<void> {
  await checkServer(ask);
  const found = await schemaVersion(ask, tables);
  checkReadable(found);
  if (found.version < SCHEMA_VERSION) {
    const state = found.version === 0 ? 'has no Samekey tables' : `has schema version ${found.version}`;
    throw new SchemaError(
      `The MySQL database ${state}, version ${SCHEMA_VERSION} is needed: run \`await store.migrate()\`, or \`npx samekey migrate${serviceFlag(service)}\` of @samekey/cli.`,
    );
  }
  belongsTo(service, found.identity, PLACE);
  await checkTablesThere(ask, tables);
  await checkTables(ask, tables);
  await checkPrivileges(ask, tables);
  await checkShapes(ask, tables, found.version > SCHEMA_VERSION);
  if (auditTransitions === true) await checkTransitions(ask, tables);
}

const PACKET_MIN = 16 * 1024 * 1024;

async function checkServer(ask: Ask): Promise<void> {
  const read = async (variable: string): Promise<string> =>
    String(decoded((await ask(`SELECT @@${variable}`))[0]?.[0]));
  const version = await read('version');
  const isMariadb = /mariadb/i.test(version);
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const faults: (readonly [fault: boolean, message: string])[] = [
    [
      isMariadb ? major * 100 + minor < 1006 : major < 8,
      `is version ${version}; MySQL 8.0 and MariaDB 10.6 are the oldest with SKIP LOCKED: upgrade it`,
    ],
    [
      (await read('read_only')) === '1' || (await read('innodb_read_only')) === '1',
      'is read-only, probably a replica, which may know less than its primary: connect to the primary',
    ],
    [
      (await read('innodb_flush_log_at_trx_commit')) !== '1',
      'may lose acknowledged records when the machine fails: SET GLOBAL innodb_flush_log_at_trx_commit = 1, and keep it in its configuration',
    ],
    [
      (await read('log_bin')) === '1' && (await read('sync_binlog')) !== '1',
      'may lose acknowledged records when the machine fails, because its binary log is not flushed: SET GLOBAL sync_binlog = 1, and keep it in its configuration',
    ],
    [
      (await read('log_bin')) === '1' && (await read('binlog_format')).toUpperCase() === 'STATEMENT',
      'cannot log READ COMMITTED with binlog_format = STATEMENT: set it to ROW',
    ],
    [
      Number(await read('max_allowed_packet')) < PACKET_MIN,
      `takes statements of ${await read('max_allowed_packet')} bytes at most: SET GLOBAL max_allowed_packet = ${PACKET_MIN} or more`,
    ],
  ];
  const found = faults.find(([fault]) => fault);
  if (found !== undefined) throw new SchemaError(`The MySQL server ${found[1]}.`);
}

/** One row per (scope, key), compared byte by byte (F35), in an engine that keeps what it was told. */
async function checkTables(ask: Ask, tables: Tables): Promise<void> {
  for (const table of [
    tables.records,
    tables.audit,
    tables.counters,
    tables.messages,
    tables.groups,
    tables.references,
  ]) {
    const text = String(decoded((await ask(`SHOW CREATE TABLE ${table}`))[0]?.[1]));
    if (!/ENGINE=InnoDB/i.test(text))
      throw new SchemaError(
        `The MySQL table ${table} is not kept by InnoDB: ALTER TABLE ${table} ENGINE = InnoDB.`,
      );
    if (table !== tables.records) continue;
    const isUnique = /UNIQUE KEY `samekey_identity` \(`scope`,`key`\)/.test(text);
    const areBytes =
      /`scope` varbinary\(\d+\) NOT NULL/i.test(text) && /`key` varbinary\(\d+\) NOT NULL/i.test(text);
    if (isUnique && areBytes) continue;
    throw new SchemaError(
      `The MySQL table ${table} has no unique index samekey_identity on (scope, key) as bytes, so two requests could both run: ` +
        'restore the schema with the SQL that mysqlMigrations() prints.',
    );
  }
}

/** EXPLAIN takes the privileges of what it explains, and changes nothing. */
async function checkPrivileges(
  ask: Ask,
  { records, audit, counters, messages, groups, references }: Tables,
): Promise<void> {
  const all = ['INSERT', 'UPDATE', 'DELETE'] as const;
  const needs = [
    [records, 'scope', all],
    [messages, 'topic', all],
    [counters, 'scope', all],
    [references, 'reference', all],
    [audit, 'scope', ['INSERT']],
    [groups, 'slot', ['UPDATE']],
  ] as const;
  for (const [table, column, privileges] of needs) {
    for (const privilege of privileges) {
      const statement = {
        INSERT: `INSERT INTO ${table} (${column}) SELECT ${column} FROM ${table} WHERE 1 = 0`,
        UPDATE: `UPDATE ${table} SET ${column} = ${column} WHERE 1 = 0`,
        DELETE: `DELETE FROM ${table} WHERE 1 = 0`,
      }[privilege];
      try {
        await ask(`EXPLAIN ${statement}`);
      } catch (error) {
        const code = errorNumberOf((error as { cause?: unknown }).cause ?? error);
        if (code === undefined) throw error;
        // Privileges are looked at first: what else it says, as that a column has no value, means that they are there.
        if (!DENIED.has(code)) continue;
        throw new SchemaError(
          `This user may not use ${table}: GRANT SELECT, ${privileges.join(', ')} ON ${table} to it.`,
        );
      }
    }
  }
}

/** ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR. */
const DENIED: ReadonlySet<number> = new Set([1044, 1142, 1143]);

interface SchemaState {
  readonly version: number;
  readonly minReader: number;
  /** Whose it is; null when nobody has been written down. */
  readonly identity: StoreIdentity | null;
}

async function schemaVersion(ask: Ask, { meta }: Tables): Promise<SchemaState> {
  try {
    const rows = await ask(`SELECT name, value, label FROM ${meta}`);
    const values = new Map(rows.map((row) => [String(decoded(row[0])), number(row[1])]));
    const labels = new Map(
      rows.map((row) => [String(decoded(row[0])), row[2] === null ? null : String(decoded(row[2]))]),
    );
    return {
      version: values.get('schema_version') ?? 0,
      minReader: values.get('min_reader') ?? 0,
      identity: identityOf(labels),
    };
  } catch (error) {
    if (isNoTable(error)) return { version: 0, minReader: 0, identity: null };
    throw error;
  }
}

function checkReadable({ version, minReader }: Pick<SchemaState, 'version' | 'minReader'>): void {
  if (minReader <= SCHEMA_VERSION) return;
  throw new SchemaError(
    `The MySQL database has schema version ${version}, which needs code for version ${minReader} or later; ` +
      `this is version ${SCHEMA_VERSION}: update samekey in this process.`,
  );
}
