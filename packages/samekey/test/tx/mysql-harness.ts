/**
 * The transaction contract on MySQL and MariaDB: a database per test, the library behind a proxy that can swallow the answer to COMMIT, the
 * store beside it with connections of its own.
 */

import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { TransactionSource } from '../../src/store/transaction.ts';
import { type MysqlStore, mysqlStore } from '../../src/stores/mysql/index.ts';
import { type TxBench, txContract } from '../../../testing/src/tx-contract.ts';
import type { BeginOptions } from '../../src/tx/begin.ts';
import { type FaultProxy, startFaultProxy } from '../services/fault-proxy.ts';
import { availableMysql, type MysqlServer, type MysqlSource, startMysql } from '../services/mysql.ts';
import { mysqlWire } from '../services/mysql-wire.ts';

/** A library on one database. */
export interface OpenLibrary<Tx> {
  readonly source: TransactionSource<Tx>;
  query(tx: Tx, text: string): PromiseLike<unknown>;
  /** By the library's own means; default: by `query`. */
  insert?(tx: Tx, id: string, amount: number): PromiseLike<unknown>;
  /** Default: by SQL. */
  nested?(tx: Tx, body: (inner: Tx) => Promise<void>): Promise<void>;
  close(): Promise<unknown>;
}

/** What is so of a library. */
export interface LibraryFacts {
  /** Default true: a stray query is before COMMIT. */
  readonly straysRunFirst?: boolean;
}

/** Runs the contract on the servers that this machine has. */
export function contractOnMysql<Tx>(
  name: string,
  openLibrary: (
    url: string,
    begin: BeginOptions,
    connectionsMax: number,
  ) => OpenLibrary<Tx> | Promise<OpenLibrary<Tx>>,
  { straysRunFirst = true }: LibraryFacts = {},
): void {
  for (const found of availableMysql()) {
    describe(found.name, () => {
      let server: MysqlServer;
      beforeAll(async () => {
        server = await startMysql(found);
      }, 60_000);
      afterAll(() => server.stop());
      txContract(
        { describe, it },
        {
          name,
          dialect: 'mysql',
          refusesLateUse: true,
          straysRunFirst,
          async open({ isolation, connectionsMax = 10 }) {
            const url = await server.createDatabase();
            const begin = isolation === undefined ? {} : { isolation };
            const proxy = await startFaultProxy(url, mysqlWire);
            await prepare(url);
            return bench(found, server, url, proxy, await openLibrary(proxy.url, begin, connectionsMax));
          },
        },
      );
    });
  }
}

const CLOCK =
  "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000 + (SELECT ms FROM clock_offset))";

async function prepare(url: string): Promise<void> {
  await beside(url, 'CREATE TABLE orders (id VARCHAR(64) PRIMARY KEY, amount INT UNIQUE)');
  await beside(url, 'CREATE TABLE clock_offset (ms BIGINT NOT NULL)');
  await beside(url, 'INSERT INTO clock_offset VALUES (0)');
  const store = mysqlStore({ service: 'test', connect: () => createConnection(url) });
  await store.migrate();
  await store.close();
}

async function bench<Tx>(
  found: MysqlSource,
  server: MysqlServer,
  url: string,
  proxy: FaultProxy,
  library: OpenLibrary<Tx>,
): Promise<TxBench> {
  const stores: MysqlStore[] = [];
  let elapsedMs = 0;
  const another = async (): Promise<MysqlStore> => {
    const store = mysqlStore({
      service: 'test',
      connect: () => createConnection(url),
      clock: CLOCK,
      now: () => Date.now() + elapsedMs,
      monotonicNow: () => performance.now() + elapsedMs,
    });
    stores.push(store);
    await store.ready();
    return store;
  };
  const query = async (tx: unknown, text: string): Promise<unknown> => library.query(tx as Tx, text);
  return {
    source: library.source,
    store: await another(),
    another,
    query,
    insert: async (tx, id, amount) =>
      library.insert === undefined
        ? query(tx, `INSERT INTO orders VALUES ('${id}', ${amount})`)
        : library.insert(tx as Tx, id, amount),
    ...(library.nested && {
      nested: async (tx, body) => library.nested?.(tx as Tx, (inner) => body(inner)),
    }),
    beside: (text) => beside(url, text),
    async advance(ms) {
      await beside(url, `UPDATE clock_offset SET ms = ms + ${ms}`);
      elapsedMs += ms;
    },
    loseCommitReply: (then) =>
      proxy.arm({
        statement: /^\s*commit\b/i,
        what: 'lose-reply',
        leaves: then === 'close' ? 'closed' : 'half-open',
      }),
    async crash() {
      if (found.programs === null) return endSessions(url);
      await server.kill();
      await server.restart();
    },
    async close() {
      // First the network, so that nothing waits for an answer that will not come.
      await proxy.close();
      await library.close().catch(() => undefined);
      await Promise.all(stores.map((store) => store.close()));
    },
  };
}

/** A server of somebody else's is not killed; all sessions of the database are, which is what they would see of it. */
async function endSessions(url: string): Promise<void> {
  const rows = await beside(
    url,
    'SELECT id AS id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()',
  );
  for (const { id } of rows) await beside(url, `KILL ${String(id)}`).catch(() => undefined);
}

/** A session for one text: none outlives a crash. */
async function beside(url: string, text: string): Promise<Record<string, unknown>[]> {
  const connection = await createConnection(url);
  try {
    const [rows] = await connection.query<RowDataPacket[]>(text);
    return Array.isArray(rows) ? rows.map((row) => ({ ...row })) : [];
  } finally {
    await connection.end();
  }
}
