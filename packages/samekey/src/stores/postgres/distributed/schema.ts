/**
 * Checks at start that the server is the engine it was said to be, that it takes writes and keeps them, and that the
 * tables are there; and makes them. No lock is held while they are made: every step may be done twice.
 */

import { SchemaError } from '../../../core/errors.ts';
import { ANY_SERVICE, belongsTo, ownerToWrite, serviceFlag } from '../../../store/identity.ts';
import { number } from '../../sql/record-row.ts';
import { identityStatement, readIdentity } from '../identity.ts';
import { type Ask, plain, type SqlRow } from '../client.ts';
import { errorCodeOf } from '../errors.ts';
import { checkReplicaIdentity } from '../replica-identity.ts';
import { quote } from '../tables.ts';
import { engineOf } from './engines.ts';
import type { Layout } from './layout.ts';
import { doneStatement, LAYOUT_VERSION, layoutStatements, spreadStatements } from './migrations.ts';

/** How far it is; 0: no tables. Throws `SchemaError` for what only newer code can work with. */
export async function layoutVersion(ask: Ask, { schema, meta }: Layout): Promise<number> {
  const there = await ask(
    plain('SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = $2'),
    [schema, 'samekey_plain_meta'],
  );
  if (there.length === 0) return 0;
  const values = new Map(
    (await ask(plain(`SELECT name, value FROM ${meta}`), [])).map((row) => [String(row[0]), number(row[1])]),
  );
  const [version, minReader] = [values.get('schema_version') ?? 0, values.get('min_reader') ?? 0];
  if (minReader <= LAYOUT_VERSION) return version;
  throw new SchemaError(
    `The tables have version ${version}, which needs code for version ${minReader} or later; this is version ${LAYOUT_VERSION}: ` +
      'update samekey in this process.',
  );
}

/** Throws `SchemaError` when the database is not fit for the store. */
export async function checkLayout(ask: Ask, layout: Layout, service: string): Promise<void> {
  await checkEngine(ask, layout);
  await checkWrites(ask, layout);
  if ((await layoutVersion(ask, layout)) < LAYOUT_VERSION) {
    throw new SchemaError(
      `The schema ${quote(layout.schema)} has no Samekey tables for ${layout.facts.title}: run \`await store.migrate()\`, or \`${migrateCommand(layout, service)}\` of @samekey/cli.`,
    );
  }
  await checkOwner(ask, layout, service);
  await checkKey(ask, layout);
  if (layout.facts.spread) await checkSpread(ask, layout);
  const { records, audit, counters, meta } = layout;
  if (layout.facts.storage) await checkReplicaIdentity(ask, [records, audit, counters, meta]);
}

/** What `version()` says is another engine, or Citus is not there. */
async function checkEngine(ask: Ask, { facts }: Layout): Promise<void> {
  const version = String((await ask(plain('SELECT version()'), []))[0]?.[0]);
  const found = engineOf(version);
  const { title, engine } = facts;
  if (found !== undefined && found.engine !== engine) {
    throw new SchemaError(
      `The server is ${found.title} and the store was told "${engine}": pass engine: '${found.engine}'.`,
    );
  }
  if (facts.version !== null && found === undefined) {
    throw new SchemaError(
      `The server does not say that it is ${title}: pass engine: 'other', or 'citus' for Citus, or use postgresStore().`,
    );
  }
  if (!facts.spread) return;
  const extension = await ask(plain("SELECT 1 FROM pg_catalog.pg_extension WHERE extname = 'citus'"), []);
  if (extension.length === 0) {
    throw new SchemaError(
      'The extension citus is not in this database: CREATE EXTENSION citus on all nodes.',
    );
  }
}

/** Settings that cost acknowledged records, where the storage is PostgreSQL's. */
const DURABLE: Readonly<Record<string, readonly string[]>> = {
  fsync: ['on'],
  full_page_writes: ['on'],
  synchronous_commit: ['on', 'remote_apply'],
};

async function checkWrites(ask: Ask, { facts }: Layout): Promise<void> {
  const readOnly = String((await ask(plain("SELECT current_setting('transaction_read_only')"), []))[0]?.[0]);
  if (readOnly === 'on') {
    throw new SchemaError('The server is read-only, a standby or a reader: connect to the one that writes.');
  }
  if (!facts.storage) return;
  for (const [name, allowed] of Object.entries(DURABLE)) {
    const settings = await settingsOf(ask, name, facts.spread);
    const bad = settings.find(([, value]) => !allowed.includes(value));
    if (bad === undefined) continue;
    throw new SchemaError(
      `${bad[0]} may lose acknowledged records, because ${name} is ${bad[1]}: ALTER SYSTEM SET ${name} = on there, then reload.`,
    );
  }
}

/** A setting here, and on the workers, where the rows are. */
async function settingsOf(
  ask: Ask,
  name: string,
  withWorkers: boolean,
): Promise<readonly (readonly [where: string, value: string])[]> {
  const here = await ask(plain(`SELECT current_setting('${name}')`), []);
  const workers: readonly SqlRow[] = withWorkers
    ? await ask(
        plain(`SELECT nodename || ':' || nodeport, result FROM run_command_on_workers('SHOW ${name}')`),
        [],
      )
    : [];
  return [
    ['The server', String(here[0]?.[0])],
    ...workers.map((row) => [`The worker ${String(row[0])}`, String(row[1])] as const),
  ];
}

/** One row per (scope, key). */
async function checkKey(ask: Ask, { schema, records }: Layout): Promise<void> {
  const rows = await ask(
    plain(
      `SELECT a.attname FROM pg_catalog.pg_constraint c
JOIN pg_catalog.pg_class t ON t.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY (c.conkey)
WHERE n.nspname = $1 AND t.relname = $2 AND c.contype = 'p'`,
    ),
    [schema, 'samekey_plain_records'],
  );
  const key = rows.map(([name]) => String(name)).toSorted();
  if (key.join(' ') === 'key scope') return;
  throw new SchemaError(
    `The table ${records} has no primary key (scope, key), so two requests could both run: restore the schema that distributedMigrations() prints.`,
  );
}

async function checkSpread(ask: Ask, layout: Layout): Promise<void> {
  for (const { table } of spreadStatements(layout)) {
    if (await isSpread(ask, table)) continue;
    throw new SchemaError(
      `The table ${table} is on one node only: run \`await store.migrate()\`, or \`${migrateCommand(layout)}\` of @samekey/cli.`,
    );
  }
}

async function isSpread(ask: Ask, table: string): Promise<boolean> {
  const rows = await ask(
    plain("SELECT 1 FROM pg_dist_partition WHERE logicalrelid = $1::regclass AND partmethod IN ('h', 'n')"),
    [table],
  );
  return rows.length > 0;
}

/** Could not be done now: somebody else does the same at this moment. */
const AGAIN: ReadonlySet<string> = new Set([
  '55P03',
  '40P01',
  '40001',
  '42P06',
  '42P07',
  '42710',
  '23505',
  '55000',
  'XX000',
]);
const TRIES_MAX = 60;

/** How tables are made, and whose they are then. */
interface Making {
  readonly service: string;
  readonly newIdentity: boolean;
  readonly random: () => number;
}

/** Makes what is missing; safe from any number of processes at once. */
export async function makeLayout(
  ask: Ask,
  layout: Layout,
  { service, newIdentity, random }: Making,
): Promise<void> {
  await checkEngine(ask, layout);
  for (let tries = 1; ; tries += 1) {
    try {
      await makeOnce(ask, layout, service, newIdentity);
      return;
    } catch (error) {
      const code = errorCodeOf((error as { cause?: unknown }).cause ?? error) ?? '';
      if (!AGAIN.has(code) || tries === TRIES_MAX) throw error;
      await new Promise((resolve) => void setTimeout(resolve, 50 + random() * 50 * Math.min(tries, 20)));
    }
  }
}

async function makeOnce(ask: Ask, layout: Layout, service: string, newIdentity: boolean): Promise<void> {
  const isMade = (await layoutVersion(ask, layout)) >= LAYOUT_VERSION;
  const found = isMade ? await readIdentity(ask, layout.meta) : null;
  const owner = ownerToWrite(service, found, newIdentity, layout.place);
  const writeOwner = async (): Promise<void> => {
    if (owner !== null) await ask(plain(identityStatement(layout.meta, owner, newIdentity)), []);
  };
  if (isMade) {
    await writeOwner();
    await checkOwner(ask, layout, service);
    return;
  }
  // Looked for first: IF NOT EXISTS still needs the privilege to create one.
  const there = await ask(plain('SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1'), [layout.schema]);
  if (there.length === 0) await ask(plain(`CREATE SCHEMA IF NOT EXISTS ${quote(layout.schema)}`), []);
  for (const text of layoutStatements(layout)) await ask(plain(text), []);
  if (layout.facts.spread) {
    for (const { table, text } of spreadStatements(layout)) {
      if (!(await isSpread(ask, table))) await ask(plain(text), []);
    }
  }
  // Before the version: who finds that finds whose it is.
  await writeOwner();
  await ask(plain(doneStatement(layout)), []);
  await checkOwner(ask, layout, service);
}

/** Read after it was written: there is no lock, and another service may have been first. */
async function checkOwner(ask: Ask, { meta, place }: Layout, service: string): Promise<void> {
  belongsTo(service, await readIdentity(ask, meta), place);
}

/** As it is typed; the database comes from the environment. */
function migrateCommand({ schema, facts }: Layout, service = ANY_SERVICE): string {
  const where = schema === 'public' ? '' : ` --schema ${/^[\w-]+$/.test(schema) ? schema : `'${schema}'`}`;
  return `npx samekey migrate${serviceFlag(service)} --engine ${facts.engine}${where}`;
}
