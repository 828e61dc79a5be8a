/** What the doctor finds in MySQL and MariaDB, and what it does not find in a healthy database. */

import { createConnection } from 'mysql2/promise';
import { mysqlStore } from 'samekey/stores/mysql';
import { afterAll, beforeAll, describe } from 'vitest';
import { availableMysql, type MysqlServer, startMysql } from '../../../samekey/test/services/mysql.ts';
import { findsIlls } from './ills-suite.ts';
import { startLoad } from './load.ts';

// Settings of the server are changed: only on one that is started here.
const sources = availableMysql().filter(({ programs }) => programs !== null);
const storeOf = (url: string) => mysqlStore({ service: 'shop', connect: () => createConnection(url) });

describe.each(sources.slice(0, 1))('samekey doctor on $name', (source) => {
  let server: MysqlServer;
  beforeAll(async () => {
    server = await startMysql(source);
  }, 60_000);
  afterAll(() => server.stop());
  findsIlls('mysql', () => ({
    async fresh() {
      const url = await server.createDatabase();
      const store = storeOf(url);
      await store.migrate();
      await store.close();
      return url;
    },
    async session(url) {
      const connection = await createConnection(url);
      return {
        execute: async (sql) => void (await connection.query(sql)),
        close: () => connection.end(),
      };
    },
    load: async (url) => startLoad(storeOf(url)),
  }));
});
