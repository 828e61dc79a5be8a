/** The SQLite clients found on this machine, and stores on files of their own. */

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type SqliteDatabase, type SqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts';
import type { StoreHarness } from '../../../testing/src/store-contract.ts';
import { lack, tellLacking } from '../services/lacking.ts';

export type ClientName = 'libsql' | 'node:sqlite' | 'better-sqlite3';

/** An open client; all three have `close`. */
export type OpenDatabase = SqliteDatabase & { close(): unknown };

type Open = (path: string) => OpenDatabase;
type Constructor = new (path: string) => OpenDatabase;

const require = createRequire(import.meta.url);
const optional = createRequire(
  fileURLToPath(new URL('../../../../tools/optional/index.js', import.meta.url)),
);

/** Where each client comes from, and what to do when it is missing. */
const REMEDIES: Readonly<Record<ClientName, string>> = {
  libsql: 'npm install',
  'node:sqlite': 'npx -y -p node@24 npx vitest run packages/samekey/test/stores',
  'better-sqlite3': 'npm ci --prefix tools/optional',
};

/** What `require` takes to load a client, also from another folder; throws when there is none. */
export function clientPath(name: ClientName): string {
  try {
    return optional.resolve(name);
  } catch {
    return require.resolve(name);
  }
}

function loadClient(name: ClientName): Constructor {
  const client = require(clientPath(name)) as Constructor | { DatabaseSync: Constructor };
  return 'DatabaseSync' in client ? client.DatabaseSync : client;
}

/** The clients this Node can load. A missing one is named on the console, and fails where everything is required. */
export function availableClients(): { name: ClientName; open: Open }[] {
  return (Object.keys(REMEDIES) as ClientName[]).flatMap((name) => {
    try {
      const Client = loadClient(name);
      // One that was compiled for another Node is found here, and fails when it is opened.
      new Client(':memory:').close();
      return [{ name, open: (path: string) => new Client(path) }];
    } catch (cause) {
      const tests = `SQLite tests with ${name}, which Node ${process.version} cannot load`;
      const remedy = `Run: ${REMEDIES[name]}`;
      // A Node before 22.13 has no node:sqlite, whatever is installed.
      if (name === 'node:sqlite') tellLacking(`SKIPPED: ${tests}. ${remedy}`);
      else lack(tests, remedy, cause);
      return [];
    }
  });
}

/** A folder for one database, removed by `remove`. */
export function temporaryFile(parent: string = tmpdir()): { path: string; remove(): void } {
  const folder = mkdtempSync(join(parent, 'samekey-sqlite-'));
  return { path: join(folder, 'test.db'), remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Hundreds of small files: on a memory disk, where there is one, since the contract says nothing of power cuts. */
export const MEMORY_DISK: string = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** The contract's harness: a file per store, and clocks that only `advance` moves. `wrap` puts something around each store. */
export function sqliteHarness(
  name: string,
  open: Open,
  wrap: (store: SqliteStore) => SqliteStore = (store) => store,
): StoreHarness {
  return {
    name: `sqlite with ${name}`,
    auditsTransitions: true,
    async create(options = { auditTransitions: false }) {
      const file = temporaryFile(MEMORY_DISK);
      const clients: OpenDatabase[] = [];
      let elapsedMs = 0;
      function handle(wallOffsetMs: number): SqliteStore {
        const database = open(file.path);
        clients.push(database);
        const store = sqliteStore({
          service: 'test',
          database,
          ...options,
          now: () => Date.UTC(2030, 0) + elapsedMs + wallOffsetMs,
          // Each process counts from a zero of its own.
          monotonicNow: () => elapsedMs + clients.indexOf(database) * 5_000_000,
        });
        return wrap(store);
      }
      const store = handle(0);
      await store.migrate();
      await store.ready();
      return {
        store,
        advance(ms) {
          elapsedMs += ms;
        },
        async another({ wallOffsetMs }) {
          const other = handle(wallOffsetMs);
          await other.ready();
          return other;
        },
        transaction: (body) => store.transaction((tx) => body(store.within(tx))),
        async close() {
          for (const client of clients) client.close();
          file.remove();
        },
      };
    },
  };
}
