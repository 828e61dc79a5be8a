/**
 * One database, opened for an operator: the store in it, and a way to look beside it. The store is the library's own, so what
 * the command does is what an application would do.
 *
 * Invariants: opening changes nothing and makes no file · `query` only reads · a table that is not there is told with the command
 * that makes it.
 */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import Database from 'libsql';
import { createConnection } from 'mysql2/promise';
import { Client } from 'pg';
import type { Store } from 'samekey';
import { type MysqlStore, mysqlStore } from 'samekey/stores/mysql';
import { type PostgresStore, postgresStore } from 'samekey/stores/postgres';
import { type SqliteStore, sqliteStore } from 'samekey/stores/sqlite';
import { CliError, messageOf } from '../cli-error.ts';
import type { Address } from './address.ts';
import { ANY_SERVICE } from './schema.ts';

/** A row by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>;

/** An open database. */
export interface OpenDatabase {
  readonly address: Address;
  readonly store: (PostgresStore | SqliteStore | MysqlStore) & Store;
  /** Its clock, in milliseconds since 1970; where it has none, this machine's. */
  readonly now: () => Promise<number>;
  /** Reads beside the store; parameters as `$1` on PostgreSQL, `?` elsewhere. */
  readonly query: (sql: string, values?: readonly (string | number)[]) => Promise<readonly Row[]>;
  close(): Promise<void>;
}

/** A server that does not answer at all is a fault to be told, not to be waited for. */
const CONNECT_TIME_MAX_MS = 10_000;
/** An operator's look at a large table takes longer than a request may. */
const STATEMENT_TIME_MAX_MS = 30_000;
/** Beside an application that writes. */
const BUSY_TIME_MAX_MS = 10_000;

/** Opens it. Throws `CliError` where there is nothing to open. */
export function openDatabase(address: Address, schema: string | undefined): OpenDatabase {
  if (address.kind === 'postgres') return openPostgres(address, address.url, schema);
  if (schema !== undefined) throw new CliError('--schema goes with PostgreSQL; others have no schemas.');
  if (address.kind === 'mysql') return openMysql(address, address.url);
  return openSqlite(address, address.path);
}

function openPostgres(address: Address, url: string, schema: string | undefined): OpenDatabase {
  const connect = (): Client => {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIME_MAX_MS });
    // The server may go at any time: the next question says so.
    client.on('error', () => undefined);
    return client;
  };
  const store = postgresStore({
    service: ANY_SERVICE,
    connect,
    statementTimeMaxMs: STATEMENT_TIME_MAX_MS,
    ...(schema === undefined ? {} : { schema }),
  });
  let own: Promise<Client> | undefined;

  async function ownClient(): Promise<Client> {
    const client = connect();
    try {
      await client.connect();
    } catch (error) {
      throw new CliError(`The PostgreSQL server ${address.shown} cannot be asked: ${messageOf(error)}.`);
    }
    return client;
  }

  /** Each in a transaction of its own: behind a pooler a setting of the session would reach the application's transactions. */
  async function query(sql: string, values: readonly (string | number)[] = []): Promise<readonly Row[]> {
    own ??= ownClient();
    const client = await own;
    await client.query('BEGIN READ ONLY');
    try {
      await client.query(
        `SELECT set_config('search_path', $1, true), set_config('statement_timeout', $2, true)`,
        [`"${schema ?? 'public'}", pg_catalog`, String(STATEMENT_TIME_MAX_MS)],
      );
      return (await client.query<Row>(sql, [...values])).rows;
    } finally {
      await client.query('ROLLBACK');
    }
  }

  return {
    address,
    store,
    query,
    now: async () =>
      Number((await query('SELECT floor(extract(epoch FROM clock_timestamp()) * 1000) AS now'))[0]?.['now']),
    async close() {
      await store.close();
      const client = await own?.catch(() => undefined);
      await client?.end();
    },
  };
}

function openMysql(address: Address, uri: string): OpenDatabase {
  const connect = (): ReturnType<typeof createConnection> =>
    createConnection({ uri, connectTimeout: CONNECT_TIME_MAX_MS });
  const store = mysqlStore({ service: ANY_SERVICE, connect, statementTimeMaxMs: STATEMENT_TIME_MAX_MS });

  async function query(sql: string, values: readonly (string | number)[] = []): Promise<readonly Row[]> {
    const client = await connect().catch((error: unknown) => {
      throw new CliError(`The MySQL server ${address.shown} cannot be asked: ${messageOf(error)}.`);
    });
    try {
      // A limit of the server's own, made for requests, must not end the look that finds it.
      await client
        .query('SET SESSION max_statement_time = 30')
        .catch(() => client.query('SET SESSION max_execution_time = 30000'));
      await client.query('START TRANSACTION READ ONLY');
      const [rows] = await client.query(sql, [...values]);
      return rows as Row[];
    } finally {
      client.destroy();
    }
  }

  return {
    address,
    store,
    query,
    now: async () => Number((await query('SELECT FLOOR(UNIX_TIMESTAMP(NOW(3)) * 1000) AS now'))[0]?.['now']),
    close: () => store.close(),
  };
}

function openSqlite(address: Address, path: string): OpenDatabase {
  const file = resolve(path);
  if (!existsSync(file)) {
    throw new CliError(`There is no file ${file}: check the path, or make it with \`npx samekey migrate\`.`);
  }
  const { database, store } = opened(file);
  return {
    address,
    store,
    now: async () => Date.now(),
    query: async (sql, values = []) => database.prepare(sql).all(...values) as Row[],
    async close() {
      await store.close();
      database.close();
    },
  };
}

function opened(file: string): { readonly database: Database.Database; readonly store: SqliteStore } {
  try {
    const database = new Database(file);
    return {
      database,
      store: sqliteStore({ service: ANY_SERVICE, database, busyTimeMaxMs: BUSY_TIME_MAX_MS }),
    };
  } catch (error) {
    throw new CliError(
      `The SQLite file ${file} cannot be used: ${messageOf(error)}. Check path, owner and mode.`,
    );
  }
}
