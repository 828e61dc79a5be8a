/**
 * Brings the schema up to date. Safe when twenty processes start at once, also through a pooler in transaction mode:
 * each migration is one transaction under an advisory lock that ends with it. A lock on the table is waited for shortly
 * and asked for again, so that a long query of somebody's never makes the traffic queue up behind a migration.
 * Source: https://www.postgresql.org/docs/current/sql-createindex.html#SQL-CREATEINDEX-CONCURRENTLY.
 */

import { StoreError } from '../../core/errors.ts';
import { ownerToWrite } from '../../store/identity.ts';
import { identityStatement } from './identity.ts';
import { LOCK_TIME_MAX_MS, MIGRATIONS, migrationStatements, versionAfter } from './migrations/index.ts';
import { type Connection, plain, type SqlRow } from './client.ts';
import { errorCodeOf, storeError } from './errors.ts';
import { checkReadable, missingIndexes, schemaState, transitionTriggers } from './schema.ts';
import { checkIsPostgres } from './server-check.ts';
import { noTransitionStatements, transitionStatements } from './transitions.ts';
import { quote, type Tables } from './tables.ts';
import type { Migration } from './migrations/migration.ts';

/** How often it is tried: more than a minute together. */
const TRIES_MAX = 60;

/** Could not be done now: a lock, a deadlock, the same object made by somebody else at the same moment. */
const AGAIN = new Set(['55P03', '40P01', '40001', '42P06', '42P07', '23505', '57014', 'XX000']);

/** What a migration is told. */
interface MigrateOptions {
  readonly service: string;
  /**
   * Makes the tables this service's, whoever's they were, and those of a database with a name of its own; default
   * false.
   */
  readonly newIdentity?: boolean | undefined;
  /** Given by tests only. */
  readonly migrations?: readonly Migration[] | undefined;
  /** Installs the triggers that audit transitions, or removes them; undefined: neither. */
  readonly auditTransitions?: boolean | undefined;
  /** In how many partitions the table of records is made; default 0. */
  readonly partitions?: number | undefined;
}

/** Applies the missing migrations. */
export async function migrate(
  open: () => Promise<Connection>,
  tables: Tables,
  options: MigrateOptions,
): Promise<void> {
  const { migrations = MIGRATIONS } = options;
  const connection = await connected(open);
  const ask = async (text: string, ...values: string[]): Promise<readonly SqlRow[]> =>
    (await connection.query(plain(text), values, false)).rows;
  try {
    await checkIsPostgres(({ text }, values) => ask(text, ...values.map(String)));
    for (let tries = 1; ; tries += 1) {
      try {
        await applyAll(ask, tables, migrations, options);
        await buildIndexes(open, ask, tables, migrations);
        return;
      } catch (error) {
        await ask('ROLLBACK').catch(() => undefined);
        const code = errorCodeOf(error) ?? '';
        if (code === NO_PRIVILEGE) throw noRights(error, tables);
        if (!AGAIN.has(code) || tries === TRIES_MAX) throw storeError(error, true);
        await new Promise((resolve) => void setTimeout(resolve, 50 + Math.random() * 50 * tries));
      }
    }
  } finally {
    await connection.close().catch(() => undefined);
  }
}

const NO_PRIVILEGE = '42501';

/** What a running application may do is not enough here (F120). */
function noRights(cause: unknown, { schema }: Tables): StoreError {
  return new StoreError(
    `PostgreSQL refused the migration (code ${NO_PRIVILEGE}): this role may not create or change the tables. Run it as their owner, or as a role with CREATE on the schema ${schema}; \`npx samekey migrate --print\` prints the SQL for whoever may.`,
    { applied: 'no', cause },
  );
}

type Ask = (text: string, ...values: string[]) => Promise<readonly SqlRow[]>;

async function applyAll(
  ask: Ask,
  tables: Tables,
  migrations: readonly Migration[],
  { service, newIdentity = false, auditTransitions, partitions = 0 }: MigrateOptions,
): Promise<void> {
  await ask('BEGIN');
  for (const [name, value] of [
    ['lock_timeout', `${LOCK_TIME_MAX_MS}`],
    ['statement_timeout', '0'],
    ['idle_in_transaction_session_timeout', '30000'],
    ['synchronous_commit', 'on'],
  ]) {
    await ask(`SET LOCAL ${name} = '${value}'`);
  }
  await ask(`SELECT pg_advisory_xact_lock(hashtextextended('samekey:' || $1, 0))`, tables.schema);
  // Looked for first: IF NOT EXISTS still needs the privilege to create one.
  const there = await ask('SELECT to_regnamespace($1)::text', tables.schema);
  if (there[0]?.[0] === null) await ask(`CREATE SCHEMA ${tables.schema}`);
  const state = await schemaState(({ text }, values) => ask(text, ...values.map(String)), tables);
  checkReadable(state, versionAfter(migrations));
  const owner = ownerToWrite(service, state.identity, newIdentity, tables.place);
  for (const migration of migrations) {
    if (migration.number <= state.version) continue;
    for (const statement of migrationStatements(migration, tables, partitions)) await ask(statement);
  }
  if (owner !== null) await ask(identityStatement(tables.meta, owner, newIdentity));
  if (auditTransitions !== undefined) await switchTransitions(ask, tables, auditTransitions);
  await ask('COMMIT');
}

/** Only where it changes something: it takes a lock that writes wait for. */
async function switchTransitions(ask: Ask, tables: Tables, on: boolean): Promise<void> {
  const found = await transitionTriggers(({ text }, values) => ask(text, ...values.map(String)), tables);
  if (found === (on ? 'all' : 'none')) return;
  for (const statement of on ? transitionStatements(tables) : noTransitionStatements(tables))
    await ask(statement);
}

/**
 * Beside the traffic, by one process at a time: a build looks invalid until it is done, so another process would take
 * it for one that was broken off. A build that was leaves an invalid index: it goes, and is built again.
 */
async function buildIndexes(
  open: () => Promise<Connection>,
  ask: Ask,
  tables: Tables,
  migrations: readonly Migration[],
): Promise<void> {
  const definitions = Object.assign(
    {},
    ...migrations.map((migration) => migration.indexes?.(tables) ?? {}),
  ) as Record<string, string>;
  const missing = async (): Promise<string | undefined> =>
    (await missingIndexes(({ text }, values) => ask(text, ...values.map(String)), tables, migrations))[0];
  if ((await missing()) === undefined) return;
  await alone(open, tables, async (isMine) => {
    for (let tries = 0; tries < INDEX_TRIES_MAX; tries += 1) {
      // First the lock: what was missing before may have been built since.
      const isOurs = await isMine();
      const name = await missing();
      if (name === undefined) return;
      const building = await ask(
        `SELECT 1 FROM pg_stat_progress_create_index WHERE relid = $1::regclass
           OR relid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = $1::regclass)`,
        tables.records,
      );
      if (!isOurs || building.length > 0) {
        await new Promise((resolve) => void setTimeout(resolve, 400 + Math.random() * 200));
        continue;
      }
      await buildIndex(ask, tables, name, definitions[name] ?? '');
    }
    throw new StoreError('An index is still being built by another process: run the migration again later.', {
      applied: 'no',
    });
  });
}

/**
 * A table in partitions takes no build beside the traffic: each partition does, and the table's index then finds theirs
 * and has nothing to build, so its lock, which writes wait for, is a short one.
 */
async function buildIndex(ask: Ask, tables: Tables, name: string, definition: string): Promise<void> {
  const { schema, records } = tables;
  const create = 'CREATE INDEX CONCURRENTLY IF NOT EXISTS';
  const partitions = await ask(
    `SELECT c.relname, (SELECT x.indisvalid FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
       WHERE x.indrelid = c.oid AND i.relname = $2 || substring(c.relname FROM '_[0-9]+$'))::text
     FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid WHERE h.inhparent = $1::regclass ORDER BY c.oid`,
    records,
    name,
  );
  if (partitions.length === 0) {
    await ask(`DROP INDEX CONCURRENTLY IF EXISTS ${schema}.${name}`);
    await ask(`${create} ${name} ${definition}`);
    return;
  }
  for (const [partition, valid] of partitions) {
    if (valid === 'true') continue;
    const own = `${name}${/_\d+$/.exec(String(partition))?.[0] ?? ''}`;
    await ask(`DROP INDEX CONCURRENTLY IF EXISTS ${schema}.${own}`);
    await ask(`${create} ${own} ${definition.replace(records, `${schema}.${quote(String(partition))}`)}`);
  }
  await ask('BEGIN');
  await ask(`SET LOCAL lock_timeout = '${LOCK_TIME_MAX_MS}'`);
  await ask(`CREATE INDEX IF NOT EXISTS ${name} ${definition}`);
  await ask('COMMIT');
}

/**
 * Runs `body` with a way to get a lock, and to know whether it is ours: held by a transaction of a connection of its
 * own, because a build cannot run within one and a pooler may hand each statement outside of one to another session.
 * Asked for without waiting, and by LOCK: the build waits for every snapshot, which whoever waits for a lock has, and a
 * cursor of a SELECT that is done as well. The traffic reads and writes the locked table as before.
 */
async function alone(
  open: () => Promise<Connection>,
  tables: Tables,
  body: (isMine: () => Promise<boolean>) => Promise<void>,
): Promise<void> {
  const guard = await connected(open);
  const ask = (text: string): Promise<unknown> => guard.query(plain(text), [], false);
  let isOurs = false;
  try {
    await body(async () => {
      if (isOurs) return true;
      await ask('BEGIN');
      await ask(`SET LOCAL idle_in_transaction_session_timeout = '0'`);
      try {
        await ask(`LOCK TABLE ${tables.meta} IN SHARE UPDATE EXCLUSIVE MODE NOWAIT`);
        isOurs = true;
      } catch (error) {
        await ask('ROLLBACK');
        if (errorCodeOf(error) !== '55P03') throw error;
      }
      return isOurs;
    });
  } finally {
    await guard.close().catch(() => undefined);
  }
}

/** Others may be building for an hour; looked at twice a second. */
const INDEX_TRIES_MAX = 7_200;

async function connected(open: () => Promise<Connection>): Promise<Connection> {
  try {
    return await open();
  } catch (error) {
    throw storeError(error, false);
  }
}
