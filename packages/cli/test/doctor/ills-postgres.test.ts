/** What the doctor finds in PostgreSQL, and what it does not find in a healthy database. */

import { Client } from 'pg';
import { postgresStore } from 'samekey/stores/postgres';
import { afterAll, beforeAll, describe } from 'vitest';
import { anyPostgres, type PostgresServer, startPostgres } from '../../../samekey/test/services/postgres.ts';
import { findsIlls } from './ills-suite.ts';
import { startLoad } from './load.ts';

const source = anyPostgres();
const storeOf = (url: string) =>
  postgresStore({ service: 'shop', connect: () => new Client({ connectionString: url }) });

describe.runIf(source !== undefined)('samekey doctor on PostgreSQL', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    if (source !== undefined) server = await startPostgres(source, { max_prepared_transactions: '5' });
  }, 60_000);
  afterAll(() => server.stop());
  findsIlls('postgres', () => ({
    async fresh() {
      const url = await server.createDatabase();
      const store = storeOf(url);
      await store.migrate();
      await store.close();
      return url;
    },
    async session(url) {
      const client = new Client({ connectionString: url });
      client.on('error', () => undefined);
      await client.connect();
      return {
        execute: async (sql) => void (await client.query(sql)),
        close: () => client.end(),
      };
    },
    load: async (url) => startLoad(storeOf(url)),
  }));
});
