/** The MySQL clients, and stores on databases of their own whose clock only `advance` moves. */

import * as mariadb from 'mariadb';
import * as mysql2 from 'mysql2/promise';
import { type MysqlStore, mysqlStore } from '../../src/stores/mysql/index.ts';
import type { MysqlConnection } from '../../src/stores/mysql/client.ts';
import type { StoreHarness, StoreUnderTest } from '../../../testing/src/store-contract.ts';
import type { MysqlServer } from '../services/mysql.ts';

/** What a test does with one client library. */
export interface TestClient {
  readonly name: string;
  connect(url: string): Promise<MysqlConnection>;
}

export const CLIENTS: readonly TestClient[] = [
  { name: 'mysql2', connect: (url) => mysql2.createConnection(url) },
  {
    name: 'mariadb',
    connect: (url) => mariadb.createConnection(url.replace('mysql:', 'mariadb:')),
  },
];

/** Runs `body` in a user's transaction on a connection of its own. */
async function transaction<T>(
  client: TestClient,
  url: string,
  store: MysqlStore,
  body: Parameters<NonNullable<StoreUnderTest['transaction']>>[0],
): Promise<T> {
  const connection = await client.connect(url);
  try {
    await connection.query('START TRANSACTION' as never);
    const result = await body(store.within(connection));
    await connection.query('COMMIT' as never);
    return result as never;
  } catch (error) {
    await connection.query('ROLLBACK' as never);
    throw error;
  } finally {
    await connection.end();
  }
}

/** The contract's harness: a database per store. `wrap` puts something around each store. */
export function mysqlHarness(
  server: () => MysqlServer,
  client: TestClient,
  wrap: (store: MysqlStore) => MysqlStore = (store) => store,
): StoreHarness {
  return {
    name: `MySQL with ${client.name}`,
    auditsTransitions: true,
    async create(options) {
      const url = await server().createDatabase();
      const admin = await mysql2.createConnection(url);
      // Of no transaction: whatever snapshot or lock a transaction has, the clock goes on.
      await admin.query('CREATE TABLE clock (now BIGINT NOT NULL) ENGINE = MyISAM');
      await admin.query('INSERT INTO clock VALUES (1893456000000)');
      const stores: MysqlStore[] = [];
      let elapsedMs = 0;
      const monotonicNow = (): number => elapsedMs;
      const clock = '(SELECT now FROM clock)';
      const handle = async (clockOffMs = 0): Promise<MysqlStore> => {
        const store = wrap(
          mysqlStore({
            service: 'test',
            // What the contract asks of a store is not how fast a busy machine is.
            statementTimeMaxMs: 15_000,
            ...options,
            connect: () => client.connect(url),
            // As long as this process uses the server, its clock is off.
            clock: clockOffMs === 0 ? clock : `(${clock} + ${clockOffMs})`,
            now: monotonicNow,
            monotonicNow,
          }),
        );
        stores.push(store);
        await store.migrate();
        await store.ready();
        return store;
      };
      const store = await handle();
      return {
        store,
        async advance(ms) {
          await admin.query(`UPDATE clock SET now = now + ${ms}`);
          elapsedMs += ms;
        },
        async step(ms) {
          await admin.query(`UPDATE clock SET now = now + ${ms}`);
        },
        another: ({ wallOffsetMs }) => handle(wallOffsetMs),
        transaction: (body) => transaction(client, url, store, body),
        async close() {
          await Promise.all(stores.map((each) => each.close()));
          await admin.query(`DROP DATABASE ${new URL(url).pathname.slice(1)}`);
          await admin.end();
        },
      };
    },
  };
}
