/**
 * Checks at start that tables, privileges and settings are what the code needs; each message names what mends it.
 *
 * Invariant: code never runs on a schema it cannot work with; a newer schema is accepted as long as its `min_reader`
 * allows it.
 */

import { SchemaError } from '../../core/errors.ts';
import { ANY_SERVICE, belongsTo, identityOf, serviceFlag, type StoreIdentity } from '../../store/identity.ts';
import { number } from '../sql/record-row.ts';
import { MIGRATIONS, versionAfter } from './migrations/index.ts';
import { type Ask, plain } from './client.ts';
import { checkReplicaIdentity } from './replica-identity.ts';
import { checkServer } from './server-check.ts';
import { checkShapes, checkTablesThere } from './shape.ts';
import { findTransitionsStatement, transitionBody } from './transitions.ts';
import type { Tables } from './tables.ts';
import type { Migration } from './migrations/migration.ts';

/** How far a database is. */
interface SchemaState {
  /** 0: there are no tables. */
  readonly version: number;
  /** The schema version of the oldest code that can work on it. */
  readonly minReader: number;
  /** Whose it is; null when nobody has been written down. */
  readonly identity: StoreIdentity | null;
}

/** Reads the version. */
export async function schemaState(ask: Ask, { meta }: Tables): Promise<SchemaState> {
  const exists = await ask(plain('SELECT to_regclass($1)::text'), [meta]);
  if (exists[0]?.[0] === null || exists[0] === undefined) return { version: 0, minReader: 0, identity: null };
  const rows = await ask(plain(`SELECT name, value, label FROM ${meta}`), []);
  const values = new Map(rows.map((row) => [String(row[0]), number(row[1])]));
  const labels = new Map(rows.map((row) => [String(row[0]), row[2] as string | null]));
  return {
    version: values.get('schema_version') ?? 0,
    minReader: values.get('min_reader') ?? 0,
    identity: identityOf(labels),
  };
}

/** Throws `SchemaError` when the database belongs to code newer than this. */
export function checkReadable(
  { version, minReader }: Pick<SchemaState, 'version' | 'minReader'>,
  known: number,
): void {
  if (minReader <= known) return;
  throw new SchemaError(
    `The PostgreSQL schema has version ${version}, which needs code for version ${minReader} or later; ` +
      `this is version ${known}: update samekey in this process.`,
  );
}

/** Throws `SchemaError` when the database is not fit for the store, or another service's. */
export async function checkDatabase(
  ask: Ask,
  tables: Tables,
  service: string,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  await checkServer(ask);
  const state = await schemaState(ask, tables);
  const needed = versionAfter(migrations);
  checkReadable(state, needed);
  if (state.version < needed) {
    const what = state.version === 0 ? 'has no Samekey tables' : `has version ${state.version}`;
    throw new SchemaError(
      `The PostgreSQL schema ${tables.schema} ${what}, version ${needed} is needed: ` +
        `run \`await store.migrate()\`, or \`${migrateCommand(tables, service)}\` of @samekey/cli.`,
    );
  }
  belongsTo(service, state.identity, tables.place);
  await checkTablesThere(ask, tables, migrations);
  for (const needs of tablesOf(tables)) await checkTable(ask, needs);
  await checkUnique(ask, tables);
  await checkReplicaIdentity(ask, [...tablesOf(tables).map(({ table }) => table), tables.meta]);
  const missing = await missingIndexes(ask, tables, migrations);
  if (missing.length > 0) {
    throw new SchemaError(
      `The PostgreSQL index ${missing.join(', ')} is missing or invalid: run \`await store.migrate()\`, or \`${migrateCommand(tables)}\` of @samekey/cli.`,
    );
  }
  await checkShapes(ask, tables, migrations, state.version > needed);
}

/**
 * `all`: both triggers that audit transitions are there, enabled, and do what this code's do; `some`: anything else of
 * them is.
 */
export async function transitionTriggers(ask: Ask, tables: Tables): Promise<'all' | 'some' | 'none'> {
  const rows = await ask(findTransitionsStatement(tables), []);
  if (rows.length === 0) return 'none';
  const right = rows.filter(
    (row) => (row[0] === true || row[0] === 't') && row[1] === transitionBody(tables),
  );
  return right.length === TRIGGERS ? 'all' : 'some';
}

const TRIGGERS = 2;

/** What `migrate()` would do about them, as `status()` names it; `wanted` undefined: nothing. */
export async function missingTriggers(
  ask: Ask,
  tables: Tables,
  version: number,
  wanted: boolean | undefined,
): Promise<readonly string[]> {
  if (wanted === undefined) return [];
  const found = version === 0 ? 'none' : await transitionTriggers(ask, tables);
  return found === (wanted ? 'all' : 'none') ? [] : ['audit-transitions'];
}

/** Throws `SchemaError` when transitions are to be audited and no trigger does. */
export async function checkTransitions(ask: Ask, tables: Tables): Promise<void> {
  if ((await transitionTriggers(ask, tables)) === 'all') return;
  throw new SchemaError(
    `The triggers that audit transitions are not on ${tables.records}, or not these: ` +
      `run \`await store.migrate()\`, or \`${migrateCommand(tables)} --audit-transitions\` of @samekey/cli.`,
  );
}

/** Indexes of later migrations that are not there or whose build was broken off. */
export async function missingIndexes(
  ask: Ask,
  tables: Tables,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<readonly string[]> {
  const wanted = migrations.flatMap((migration) => Object.keys(migration.indexes?.(tables) ?? {}));
  if (wanted.length === 0) return [];
  const rows = await ask(
    plain(
      `SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
       WHERE i.indrelid = $1::regclass AND i.indisvalid`,
    ),
    [tables.records],
  );
  const valid = new Set(rows.map((row) => String(row[0])));
  return wanted.filter((name) => !valid.has(name));
}

/**
 * What each table is for, and the privileges that takes. Rows of the audit are only ever added; pruning them takes
 * DELETE as well.
 */
function tablesOf({ records, messages, audit, counters, references, meta }: Tables): readonly TableNeeds[] {
  return [
    {
      table: records,
      privileges: 'SELECT, INSERT, UPDATE, DELETE',
      grantOn: `${records}, ${meta}`,
      hidden: 'records from this role, so that keys would run twice',
    },
    {
      table: messages,
      privileges: 'SELECT, INSERT, UPDATE, DELETE',
      grantOn: messages,
      hidden: 'messages, so that they would not be delivered',
    },
    {
      table: audit,
      privileges: 'SELECT, INSERT',
      grantOn: audit,
      hidden: 'rows of the audit, or refuses them',
    },
    {
      table: counters,
      privileges: 'SELECT, INSERT, UPDATE, DELETE',
      grantOn: counters,
      hidden: 'counts of keys',
    },
    {
      table: references,
      privileges: 'SELECT, INSERT, UPDATE, DELETE',
      grantOn: references,
      hidden: 'references, so that webhooks would find nobody',
    },
    {
      table: meta,
      privileges: 'SELECT, UPDATE',
      grantOn: meta,
      hidden: 'how far the upkeep is',
    },
  ];
}

interface TableNeeds {
  readonly table: string;
  readonly privileges: string;
  /** What must be granted together. */
  readonly grantOn: string;
  /** What row security would do. */
  readonly hidden: string;
}

async function checkTable(ask: Ask, { table, privileges, grantOn, hidden }: TableNeeds): Promise<void> {
  const wanted = privileges.split(', ');
  const held = wanted.map((privilege) => `has_table_privilege(oid, '${privilege}')::text`).join(', ');
  const rows = await ask(
    plain(
      `SELECT CASE WHEN EXISTS (SELECT 1 FROM pg_inherits h JOIN pg_class p ON p.oid = h.inhrelid
         WHERE h.inhparent = c.oid AND p.relpersistence <> 'p') THEN 'u' ELSE c.relpersistence::text END,
       row_security_active(oid)::text, ${held} FROM pg_class c WHERE oid = $1::regclass`,
    ),
    [table],
  );
  const [persistence, rowSecurity, ...found] = (rows[0] ?? []).map(String);
  if (persistence !== 'p') {
    throw new SchemaError(
      `The PostgreSQL table ${table} is emptied when the server crashes: ALTER TABLE ${table} SET LOGGED.`,
    );
  }
  if (rowSecurity === 'true') {
    throw new SchemaError(
      `Row security of ${table} hides ${hidden}: ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY.`,
    );
  }
  if (found.includes('false') || found.length < wanted.length) {
    throw new SchemaError(`This role may not use ${table}: GRANT ${privileges} ON ${grantOn} to it.`);
  }
}

/** One row per (scope, key), compared byte by byte (F35), for all rows, at once. */
async function checkUnique(ask: Ask, { records }: Tables): Promise<void> {
  const rows = await ask(
    plain(
      `SELECT i.indisvalid AND i.indisready, (SELECT string_agg(a.attname || ':' || c.collname, ' ' ORDER BY k.n)
         FROM unnest(i.indkey::int2[], i.indcollation::oid[]) WITH ORDINALITY AS k (attnum, coll, n)
         JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
         JOIN pg_collation c ON c.oid = k.coll)
       FROM pg_index i WHERE i.indrelid = $1::regclass AND i.indisunique AND i.indimmediate
         AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indnkeyatts = 2`,
    ),
    [records],
  );
  const ours = rows.filter((row) => row[1] === 'scope:C key:C');
  if (ours.some((row) => row[0] === true)) return;
  throw new SchemaError(
    ours.length > 0
      ? `The unique index on (scope, key) of ${records} is invalid, so two requests could both run: REINDEX TABLE ${records}.`
      : `The table ${records} has no unique index on (scope, key) with COLLATE "C", so two requests could both run: ` +
          `ALTER TABLE ${records} ADD PRIMARY KEY (scope, key), or restore the schema that postgresMigrations() prints.`,
  );
}

/** As it is typed; the database comes from the environment. */
function migrateCommand({ schema }: Tables, service = ANY_SERVICE): string {
  const name = schema.slice(1, -1);
  const where = name === 'public' ? '' : ` --schema ${/^[\w-]+$/.test(name) ? name : `'${name}'`}`;
  return `npx samekey migrate${serviceFlag(service)}${where}`;
}
