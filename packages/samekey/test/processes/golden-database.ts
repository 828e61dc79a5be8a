/**
 * The golden path's database, by its URL: PostgreSQL or MySQL/MariaDB. The store, transactions of the application on a pool of its own, and
 * the few statements that the operation and its judges send.
 */

import { createConnection, createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import type { TransactionSource } from 'samekey';
import { mysqlStore, type MysqlStore } from 'samekey/stores/mysql';
import { postgresStore, type PostgresStore } from 'samekey/stores/postgres';
import { fromMysql2 } from 'samekey/tx/mysql2';
import { fromPg } from 'samekey/tx/pg';
import type { GoldenOptions } from './golden-protocol.ts';

/** A connection of either driver, as far as the operation uses it. */
export interface GoldenTx {
  query(sql: string, values: unknown[]): Promise<unknown>;
}

/** A line that a phase wrote. */
export interface GoldenLine {
  readonly phase: string;
  readonly reference: string;
  readonly written: string;
}

/** What a record shows. */
export interface GoldenRecord {
  readonly state: string;
  readonly attempt: number;
  readonly reason: string | null;
}

/** An open database. */
export interface GoldenDatabase {
  readonly store: PostgresStore | MysqlStore;
  transactions(isolation: GoldenOptions['isolation']): TransactionSource<GoldenTx, unknown>;
  /** Samekey's tables and the business's. */
  prepare(): Promise<void>;
  insertLine(tx: GoldenTx, line: GoldenLine): Promise<void>;
  /** The lines of a reference. */
  linesOf(reference: string): Promise<readonly GoldenLine[]>;
  recordOf(key: string): Promise<GoldenRecord | null>;
  /** Records of keys that begin so and are not completed. */
  openOf(prefix: string): Promise<readonly GoldenRecord[]>;
  close(): Promise<void>;
}

/** The business table: one line for each phase of each reference, if all is well. No constraint hides a second one. */
const TABLE = 'CREATE TABLE golden_lines (phase varchar(100), reference varchar(200), written varchar(100))';
const INSERT = 'INSERT INTO golden_lines (phase, reference, written) VALUES ($1, $2, $3)';
const LINES = 'SELECT phase, reference, written FROM golden_lines WHERE reference = $1';
const RECORD = 'SELECT state, attempt, reason FROM samekey_records WHERE "key" = $1';
const OPEN = `SELECT state, attempt, reason FROM samekey_records WHERE "key" LIKE $1 AND state <> 'completed'`;

/** Opens it; `connectionsMax` of the application's own pool. */
export function openGoldenDatabase(url: string, connectionsMax: number): GoldenDatabase {
  return url.startsWith('mysql:') ? onMysql(url, connectionsMax) : onPostgres(url, connectionsMax);
}

type Ask = <Row>(sql: string, values?: unknown[]) => Promise<readonly Row[]>;

function asked(
  ask: Ask,
  store: PostgresStore | MysqlStore,
): Omit<GoldenDatabase, 'store' | 'transactions' | 'insertLine' | 'close'> {
  return {
    async prepare() {
      await store.migrate();
      await ask(TABLE);
    },
    linesOf: (reference) => ask<GoldenLine>(LINES, [reference]),
    recordOf: async (key) => (await ask<GoldenRecord>(RECORD, [key]))[0] ?? null,
    openOf: (prefix) => ask<GoldenRecord>(OPEN, [`${prefix}%`]),
  };
}

function onPostgres(url: string, max: number): GoldenDatabase {
  const pool = new Pool({ connectionString: url, max });
  // A connection that waits in the pool ends with its server.
  pool.on('error', () => undefined);
  const store = postgresStore({ service: 'test', pool });
  const ask: Ask = async (sql, values = []) => (await pool.query(sql, values)).rows as never;
  return {
    ...asked(ask, store),
    store,
    transactions: (isolation) => fromPg(pool, { isolation }),
    insertLine: async (tx, { phase, reference, written }) =>
      void (await tx.query(INSERT, [phase, reference, written])),
    async close() {
      await store.close();
      await pool.end();
    },
  };
}

function onMysql(url: string, connectionLimit: number): GoldenDatabase {
  const pool = createPool({ uri: url, connectionLimit });
  const store = mysqlStore({ service: 'test', connect: () => createConnection(url) });
  const ask: Ask = async (sql, values = []) => (await pool.query(mysqlText(sql), values))[0] as never;
  return {
    ...asked(ask, store),
    store,
    transactions: (isolation) => fromMysql2(pool, { isolation }),
    insertLine: async (tx, { phase, reference, written }) =>
      void (await tx.query(mysqlText(INSERT), [phase, reference, written])),
    async close() {
      await store.close();
      await pool.end();
    },
  };
}

function mysqlText(sql: string): string {
  return sql.replaceAll('"', '`').replaceAll(/\$\d/g, '?');
}
