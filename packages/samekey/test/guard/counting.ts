/** Stores that keep counts, each on a database of its own, and claims for their records. */

import type { ClaimRequest, Store } from 'samekey';
import { memoryStore } from 'samekey/stores/memory';
import { postgresStore } from 'samekey/stores/postgres';
import { sqliteStore } from 'samekey/stores/sqlite';
import { Pool } from 'pg';
import { anyPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { availableClients, temporaryFile } from '../stores/sqlite-clients.ts';

/** A database, its stores as several processes have them, and its end. */
export interface CountedDatabase {
  /** One more process's store on it. */
  store(): Promise<Store>;
  end(): Promise<void>;
}

export interface CountedKind {
  readonly name: string;
  open(): Promise<CountedDatabase>;
  stop(): Promise<void>;
}

function memoryKind(): CountedKind {
  return {
    name: 'memory',
    async open() {
      const store = memoryStore();
      return { store: async () => store, end: async () => undefined };
    },
    stop: async () => undefined,
  };
}

function sqliteKinds(): CountedKind[] {
  return availableClients()
    .slice(0, 1)
    .map(({ name, open }) => ({
      name: `sqlite with ${name}`,
      async open() {
        const file = temporaryFile();
        const databases: { close(): unknown }[] = [];
        const stores: Store[] = [];
        return {
          async store() {
            const database = open(file.path);
            databases.push(database);
            const store = sqliteStore({ service: 'test', database });
            await store.migrate();
            await store.ready();
            stores.push(store);
            return store;
          },
          async end() {
            for (const store of stores) await store.close();
            for (const database of databases) database.close();
            file.remove();
          },
        };
      },
      stop: async () => undefined,
    }));
}

function postgresKinds(): CountedKind[] {
  const source = anyPostgres();
  if (source === undefined) return [];
  let server: Promise<PostgresServer> | undefined;
  return [
    {
      name: source.name,
      async open() {
        server ??= startPostgres(source);
        const url = await (await server).createDatabase();
        const pools: Pool[] = [];
        const stores: Store[] = [];
        return {
          async store() {
            const pool = new Pool({ connectionString: url, max: 4 });
            pools.push(pool);
            const store = postgresStore({ service: 'test', pool });
            await store.migrate();
            await store.ready();
            stores.push(store);
            return store;
          },
          async end() {
            for (const store of stores) await store.close();
            for (const pool of pools) await pool.end();
          },
        };
      },
      async stop() {
        const running = server;
        server = undefined;
        await (await running)?.stop();
      },
    },
  ];
}

/** All that this machine has. */
export const COUNTED: readonly CountedKind[] = [memoryKind(), ...sqliteKinds(), ...postgresKinds()];

/** A claim of a fresh key. */
export function claimOf(caller: string, key: string, more: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    scope: `${caller}|order`,
    key,
    operation: 'order',
    claimId: `claim-${caller}-${key}`,
    claimTtlMs: 30_000,
    fingerprint: { label: 'l', digest: 'd' },
    whenClaimEnds: 'unknown',
    retentionMs: 86_400_000,
    replayMinMs: 0,
    tombstoneMs: 0,
    attemptMax: 10,
    formatVersion: 1,
    readVersion: 1,
    entry: 'run',
    input: null,
    pendingTimeMaxMs: 0,
    ...more,
  };
}
