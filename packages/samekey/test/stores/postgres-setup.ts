/** For tests of what only PostgreSQL has: one server per file, an empty migrated database per test, sessions to disturb with. */

import { Client, Pool } from 'pg';
import { afterAll, beforeAll } from 'vitest';
import {
  type PostgresStore,
  type PostgresStoreOptions,
  postgresStore,
} from '../../src/stores/postgres/index.ts';
import { type PostgresServer, type PostgresSource, startPostgres } from '../services/postgres.ts';

/** One database and what a test opened on it. */
export interface TestDatabase {
  readonly url: string;
  /** Another session of somebody's. */
  session(): Promise<Client>;
  pool(max?: number): Pool;
  /** A store as another process would have it; migrated and ready. */
  store(options?: Partial<PostgresStoreOptions>): Promise<PostgresStore>;
  close(): Promise<void>;
}

/** Starts a server for the file; call it inside `describe`. */
export function useServer(
  source: PostgresSource,
  settings: Readonly<Record<string, string>> = {},
): { readonly server: () => PostgresServer; readonly database: () => Promise<TestDatabase> } {
  let server: PostgresServer | undefined;
  const open: TestDatabase[] = [];
  beforeAll(async () => {
    server = await startPostgres(source, settings);
  });
  afterAll(async () => {
    for (const database of open) await database.close();
    await server?.stop();
  });
  return {
    server: () => server as PostgresServer,
    async database() {
      const database = testDatabase(await (server as PostgresServer).createDatabase());
      open.push(database);
      return database;
    },
  };
}

function testDatabase(url: string): TestDatabase {
  const ends: (() => Promise<unknown>)[] = [];
  const pool = (max = 4): Pool => {
    const made = new Pool({ connectionString: url, max });
    made.on('error', () => undefined);
    ends.push(() => made.end());
    return made;
  };
  return {
    url,
    pool,
    async session() {
      const client = new Client({ connectionString: url });
      client.on('error', () => undefined);
      await client.connect();
      ends.push(() => client.end());
      return client;
    },
    async store(options = {}) {
      const source = options.connect === undefined ? { pool: pool() } : {};
      const store = postgresStore({ service: 'test', ...source, ...options });
      ends.push(() => store.close());
      await store.migrate();
      await store.ready();
      return store;
    },
    async close() {
      await Promise.all(ends.splice(0).map((end) => end().catch(() => undefined)));
    },
  };
}

/**
 * What work gave, and how often a session of this database waited for a lock meanwhile, as the server tells it: what a wait
 * is does not depend on how busy the machine is. A wait of the store's is far longer than two looks are apart.
 */
export async function waits<T>(
  observer: Client,
  work: Promise<T>,
): Promise<{ readonly waits: number; readonly value: T }> {
  const seen = new Set<string>();
  const state = { isDone: false };
  const ended = work.finally(() => (state.isDone = true));
  while (!state.isDone) {
    const { rows } = await observer.query<{ wait: string }>(
      `SELECT k.pid || ' ' || k.waitstart AS wait FROM pg_locks k JOIN pg_stat_activity a USING (pid)
       WHERE NOT k.granted AND k.waitstart IS NOT NULL AND a.datname = current_database()`,
    );
    for (const { wait } of rows) seen.add(wait);
  }
  return { value: await ended, waits: seen.size };
}

/** How long something took, in milliseconds, and what it gave. */
export async function timed<T>(work: Promise<T>): Promise<{ readonly ms: number; readonly value: T }> {
  const from = performance.now();
  const value = await work;
  return { ms: performance.now() - from, value };
}
