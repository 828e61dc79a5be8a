/** The transaction contract on MySQL and MariaDB: what holds in every database, and runs that the server rolls back. */

import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { TransactionSource } from '../../src/core/transaction.ts';
import { type MysqlStore, mysqlStore } from '../../src/stores/mysql/index.ts';
import { type TxBench, txContract } from '../../src/testing/tx-contract.ts';
import type { BeginOptions } from '../../src/tx/begin.ts';
import { availableMysql, type MysqlServer, startMysql } from '../services/mysql.ts';

/** A library on one database. */
export interface OpenLibrary<Tx> {
  readonly source: TransactionSource<Tx>;
  query(tx: Tx, text: string): Promise<unknown>;
  close(): Promise<unknown>;
}

/** Runs the contract on the servers that this machine has. */
export function contractOnMysql<Tx>(
  name: string,
  openLibrary: (url: string, begin: BeginOptions, connectionsMax: number) => OpenLibrary<Tx>,
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
          straysRunFirst: true,
          async open({ isolation, connectionsMax = 10 }) {
            const url = await server.createDatabase();
            const begin = isolation === undefined ? {} : { isolation };
            return bench(server, url, openLibrary(url, begin, connectionsMax));
          },
        },
      );
    });
  }
}

async function bench<Tx>(server: MysqlServer, url: string, library: OpenLibrary<Tx>): Promise<TxBench> {
  const beside = async (text: string): Promise<Record<string, unknown>[]> => {
    const connection = await createConnection(url);
    try {
      const [rows] = await connection.query<RowDataPacket[]>(text);
      return Array.isArray(rows) ? rows.map((row) => ({ ...row })) : [];
    } finally {
      await connection.end();
    }
  };
  await beside('CREATE TABLE orders (id VARCHAR(64) PRIMARY KEY, amount INT UNIQUE)');
  await beside('CREATE TABLE clock_offset (ms BIGINT NOT NULL)');
  await beside('INSERT INTO clock_offset VALUES (0)');
  const clock =
    "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000 + (SELECT ms FROM clock_offset))";
  const stores: MysqlStore[] = [];
  const another = async (): Promise<MysqlStore> => {
    const store = mysqlStore({ connect: () => createConnection(url), clock });
    stores.push(store);
    await store.migrate();
    await store.ready();
    return store;
  };
  return {
    source: library.source,
    store: await another(),
    another,
    query: (tx, text) => library.query(tx as Tx, text),
    insert: (tx, id, amount) => library.query(tx as Tx, `INSERT INTO orders VALUES ('${id}', ${amount})`),
    beside,
    advance: async (ms) => void (await beside(`UPDATE clock_offset SET ms = ms + ${ms}`)),
    loseCommitReply: never,
    async crash() {
      await server.kill();
      await server.restart();
    },
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      await library.close();
    },
  };
}

function never(): never {
  throw new Error('Nothing reads the protocol of MySQL here.');
}
