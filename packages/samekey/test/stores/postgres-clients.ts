/** The PostgreSQL clients, and stores on schemas of their own whose clock only `advance` moves. */

import { Client, Pool } from 'pg';
import postgres from 'postgres';
import {
  type PostgresStore,
  type PostgresStoreOptions,
  postgresStore,
} from '../../src/stores/postgres/index.ts';
import type { StoreHarness, StoreUnderTest } from '../../../testing/src/store-contract.ts';

/** What a test does with one client library. */
export interface TestClient {
  readonly name: string;
  /** How a store is told to connect. */
  options(url: string): PostgresStoreOptions & { end?(): Promise<void> };
  /** A user's pool, with transactions. */
  users(url: string): {
    transaction<T>(
      store: Pick<PostgresStore, 'within'>,
      body: Parameters<NonNullable<StoreUnderTest['transaction']>>[0],
    ): Promise<T>;
    end(): Promise<unknown>;
  };
}

export const CLIENTS: readonly TestClient[] = [
  {
    name: 'pg',
    options: (url) => ({
      service: 'test',
      pool: new Pool({ connectionString: url, max: 1 }),
    }),
    users(url) {
      const pool = new Pool({ connectionString: url, max: 10 });
      pool.on('error', () => undefined);
      return {
        async transaction(store, body) {
          const client = await pool.connect();
          try {
            await client.query('BEGIN');
            const result = await body(store.within(client));
            await client.query('COMMIT');
            return result as never;
          } catch (error) {
            await client.query('ROLLBACK');
            throw error;
          } finally {
            client.release();
          }
        },
        end: () => pool.end(),
      };
    },
  },
  {
    name: 'postgres.js',
    options: (url) => ({
      service: 'test',
      connect: () => postgres(url, { max: 1, fetch_types: false, onnotice: () => undefined }),
    }),
    users(url) {
      // A COMMIT that is prepared by name, and meets a session of a pooler that does not know the name, is answered with ROLLBACK unsaid.
      const sql = postgres(url, { max: 10, prepare: false, onnotice: () => undefined });
      return {
        transaction: async (store, body) => (await sql.begin((tx) => body(store.within(tx)))) as never,
        end: () => sql.end(),
      };
    },
  },
];

let schemas = 0;

/** The contract's harness: a schema per store in one database. `wrap` puts something around each store; `partitions` of the records. */
export function postgresHarness(
  name: string,
  url: () => string,
  client: TestClient,
  wrap: (store: PostgresStore) => PostgresStore = (store) => store,
  partitions = 0,
): StoreHarness {
  return {
    name: `${name} with ${client.name}`,
    auditsTransitions: true,
    async create(auditing) {
      schemas += 1;
      const schema = `t${process.pid}_${schemas}`;
      const now = `${schema}.now()`;
      const admin = new Client(url());
      admin.on('error', () => undefined);
      await admin.connect();
      await admin.query(`CREATE SCHEMA ${schema};
        CREATE TABLE ${schema}.clock (now timestamptz NOT NULL);
        INSERT INTO ${schema}.clock VALUES ('2030-01-01T00:00:00Z');
        CREATE FUNCTION ${schema}.now() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT now FROM ${schema}.clock'`);
      const stores: PostgresStore[] = [];
      let elapsedMs = 0;
      const monotonicNow = (): number => elapsedMs;
      const handle = async (clockOffMs = 0): Promise<PostgresStore> => {
        // What the contract asks of a store is not how fast a busy machine is.
        const bounds = { statementTimeMaxMs: 15_000 };
        const options = {
          ...client.options(url()),
          ...bounds,
          ...auditing,
          schema,
          // As long as this process uses the server, its clock is off.
          clock: clockOffMs === 0 ? now : `(${now} + ${clockOffMs} * interval '1 millisecond')`,
          now: monotonicNow,
          monotonicNow,
        };
        const store = wrap(postgresStore(options));
        stores.push(store);
        await store.ready();
        return store;
      };
      await postgresStore({
        ...client.options(url()),
        ...auditing,
        schema,
        clock: now,
        partitions,
      }).migrate();
      const store = await handle();
      const users = client.users(url());
      return {
        store,
        async advance(ms) {
          await admin.query(`UPDATE ${schema}.clock SET now = now + $1 * interval '1 millisecond'`, [ms]);
          elapsedMs += ms;
        },
        async step(ms) {
          await admin.query(`UPDATE ${schema}.clock SET now = now + $1 * interval '1 millisecond'`, [ms]);
        },
        another: ({ wallOffsetMs }) => handle(wallOffsetMs),
        transaction: (body) => users.transaction(store, body),
        async close() {
          await Promise.all(stores.map((each) => each.close()));
          await users.end();
          await admin.query(`SET client_min_messages = error; DROP SCHEMA ${schema} CASCADE`);
          await admin.end();
        },
      };
    },
  };
}
