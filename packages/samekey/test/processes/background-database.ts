/**
 * The database of the proof of background work, by the address of its store: the store, transactions of the application, and the table of
 * lines, one for each thing that a handler wrote. No constraint hides a second one.
 */

import { createRequire } from 'node:module';
import { createConnection, createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import type { Store, TransactionSource } from 'samekey';
import { mysqlStore } from 'samekey/stores/mysql';
import { postgresStore } from 'samekey/stores/postgres';
import { type SqliteDatabase, sqliteStore } from 'samekey/stores/sqlite';
import { fromMysql2 } from 'samekey/tx/mysql2';
import { fromPg } from 'samekey/tx/pg';
import { fromSqlite } from 'samekey/tx/sqlite';
import { type StoreAddress, textOf } from './backends/backend.ts';

/** A line that a handler wrote. */
export interface Line {
  readonly what: string;
  readonly reference: string;
  readonly written: string;
}

/** An open database. `Tx` is what a transaction of its library hands to the handler. */
export interface BackgroundDatabase {
  readonly store: Store & { migrate(): Promise<void> };
  readonly transactions: TransactionSource<unknown, unknown>;
  /** Samekey's tables and the business's. */
  prepare(): Promise<void>;
  insertLine(tx: unknown, line: Line): Promise<void>;
  lines(): Promise<readonly Line[]>;
  close(): Promise<void>;
}

const TABLE =
  'CREATE TABLE background_lines (what varchar(50), reference varchar(200), written varchar(100))';
const INSERT = 'INSERT INTO background_lines (what, reference, written) VALUES (?, ?, ?)';
const LINES = 'SELECT what, reference, written FROM background_lines';

/** Opens it. */
export function openBackgroundDatabase(address: StoreAddress): BackgroundDatabase {
  if (address.backend === 'sqlite') return onSqlite(textOf(address, 'path'));
  const url = textOf(address, 'url');
  return address.backend === 'mysql' ? onMysql(url) : onPostgres(url);
}

type SqliteFile = SqliteDatabase & { close(): unknown };

function onSqlite(path: string): BackgroundDatabase {
  const Database = createRequire(import.meta.url)('libsql') as new (path: string) => SqliteFile;
  const database = new Database(path);
  const store = sqliteStore({ auditTransitions: true, service: 'test', database });
  return {
    store,
    transactions: fromSqlite(store) as TransactionSource<unknown, unknown>,
    async prepare() {
      await store.migrate();
      database.prepare(TABLE).run();
    },
    async insertLine(_tx, { what, reference, written }) {
      database.prepare(INSERT).run(what, reference, written);
    },
    lines: async () =>
      (database.prepare(LINES).all() as Line[]).map(({ what, reference, written }) => ({
        what,
        reference,
        written,
      })),
    async close() {
      await store.close();
      database.close();
    },
  };
}

function onPostgres(url: string): BackgroundDatabase {
  const pool = new Pool({ connectionString: url, max: 4 });
  // A connection that waits in the pool ends with its server.
  pool.on('error', () => undefined);
  const store = postgresStore({ auditTransitions: true, service: 'test', pool });
  return {
    store,
    transactions: fromPg(pool) as TransactionSource<unknown, unknown>,
    async prepare() {
      await store.migrate();
      await pool.query(TABLE);
    },
    async insertLine(tx, { what, reference, written }) {
      const text = INSERT.replace('?, ?, ?', '$1, $2, $3');
      await (tx as Pool).query(text, [what, reference, written]);
    },
    lines: async () => (await pool.query(LINES)).rows as Line[],
    async close() {
      await store.close();
      await pool.end();
    },
  };
}

function onMysql(url: string): BackgroundDatabase {
  const pool = createPool({ uri: url, connectionLimit: 4 });
  const store = mysqlStore({ auditTransitions: true, service: 'test', connect: () => createConnection(url) });
  return {
    store,
    transactions: fromMysql2(pool) as TransactionSource<unknown, unknown>,
    async prepare() {
      await store.migrate();
      await pool.query(TABLE);
    },
    async insertLine(tx, { what, reference, written }) {
      await (tx as typeof pool).query(INSERT, [what, reference, written]);
    },
    lines: async () => (await pool.query(LINES))[0] as Line[],
    async close() {
      await store.close();
      await pool.end();
    },
  };
}
