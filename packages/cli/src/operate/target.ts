/** What an operator's command works on: a database by its name, or the store of an application. */

import { userInfo } from 'node:os';
import type { Command } from 'commander';
import type { Store } from 'samekey';
import { createOperator, type MessageQueue, type Operator } from 'samekey/operator';
import { loadApp } from '../app/load-app.ts';
import { CliError } from '../cli-error.ts';
import { type Address, findAddress, isSql, kindName } from '../database/address.ts';
import { openDatabase } from '../database/open-database.ts';
import { openStore } from '../database/open-store.ts';
import type { SchemaStatus } from '../database/database-schema.ts';
import type { OpenDatabase } from '../database/opened.ts';

/** Options of every command that works on a store. */
export interface TargetFlags {
  readonly database?: string;
  readonly schema?: string;
  readonly app?: string;
  readonly json?: true;
}

/** What a store may have beside its verbs. */
export interface MessagesOf {
  readonly messages?: MessageQueue;
}

/** A store with tables says how far they are. */
export type StoreWithSchema = Store & { status?(): Promise<SchemaStatus> };

/** An open store and who works on it. */
export interface Target {
  readonly store: StoreWithSchema;
  readonly operator: Operator;
  /** Null where nothing can be asked beside the store: with `--app`, on Redis and on DynamoDB. */
  readonly database: OpenDatabase | null;
  /** Whether it is opened by its address: without what only an application has, such as the ring of its seals. */
  readonly isBare: boolean;
  /** How it may be shown to people. */
  readonly shown: string;
  /** The same for programs. */
  readonly about: object;
  /** The time by the database's clock where it has one. */
  now(): Promise<number>;
}

/** Adds the options. */
export function withTarget(command: Command): Command {
  return command
    .option(
      '--database <url>',
      'postgres://…, mysql://…, redis://…?service=orders, dynamodb://table?region=… or the path of an SQLite file (default: SAMEKEY_DATABASE_URL, then DATABASE_URL)',
    )
    .option('--schema <name>', 'PostgreSQL: the schema the tables are in (default: public)')
    .option(
      '--app <module>',
      "instead of --database: the store of an application's module (sealed, a Redis Cluster, bodies kept elsewhere)",
    )
    .option('--json', 'say it as one line of JSON');
}

/** Opens it, does the work, closes it. */
export async function onTarget<T>(
  flags: TargetFlags,
  actor: string | null,
  work: (target: Target) => Promise<T>,
): Promise<T> {
  if (flags.app !== undefined) return onApp(flags.app, flags, actor, work);
  const address = findAddress(flags.database);
  const about = { kind: address.kind, database: address.shown, from: address.from };
  const named = { isBare: true, shown: described(address), about };
  if (!isSql(address)) {
    if (flags.schema !== undefined)
      throw new CliError('--schema goes with PostgreSQL; others have no schemas.');
    const { store, now, close } = await openStore(address);
    try {
      const operator = createOperator({ store, actor });
      return await work({ ...named, store, operator, database: null, now });
    } finally {
      await close();
    }
  }
  const database = await openDatabase(address, flags.schema);
  try {
    const { store } = database;
    const operator = createOperator({ store, actor });
    return await work({ ...named, store, operator, database, now: () => database.now() });
  } catch (error) {
    throw await withRemedy(error, database);
  } finally {
    await database.close();
  }
}

async function onApp<T>(
  path: string,
  { database, schema }: TargetFlags,
  actor: string | null,
  work: (target: Target) => Promise<T>,
): Promise<T> {
  if (database !== undefined || schema !== undefined)
    throw new CliError('--app brings its own store: leave --database and --schema out.');
  const app = await loadApp(path);
  try {
    return await work({
      store: app.samekey.store,
      operator: createOperator({ store: app.samekey.store, actor }),
      database: null,
      isBare: false,
      shown: `the ${app.samekey.store.name} store of ${path}`,
      about: { kind: app.samekey.store.name, app: path, from: '--app' },
      now: async () => Date.now(),
    });
  } finally {
    await app.samekey.close();
    await app.close?.();
  }
}

/** A table or a column that is not there fails as a statement would: what mends it is a migration. */
async function withRemedy(error: unknown, { store }: OpenDatabase): Promise<unknown> {
  if (error instanceof CliError) return error;
  try {
    const { missing } = await store.status();
    if (missing.length === 0) return error;
    return new CliError(`Migrations are missing: ${missing.join(', ')}. Run \`npx samekey migrate\`.`);
  } catch {
    return error;
  }
}

/** How a database is shown. */
function described({ kind, shown, from }: Address): string {
  return `${kindName(kind)} ${shown} (${from})`;
}

/** Who acts if nobody is named: who is logged in, also behind sudo. */
export function osUser(): string | null {
  const before = process.env['SUDO_USER'];
  if (before !== undefined && before !== '') return before;
  try {
    return userInfo().username;
  } catch {
    // A user id without an entry, as in many containers.
    return null;
  }
}
