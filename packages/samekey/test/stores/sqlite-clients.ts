/** The SQLite clients found on this machine, and stores on files of their own. */

import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type SqliteDatabase, type SqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts';
import type { StoreHarness } from '../../src/testing/store-contract.ts';

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
const SOURCES: Readonly<Record<ClientName, { load(): Constructor; remedy: string }>> = {
  libsql: { load: () => require('libsql') as Constructor, remedy: 'npm install' },
  'node:sqlite': {
    load: () => (require('node:sqlite') as { DatabaseSync: Constructor }).DatabaseSync,
    remedy: 'npx -y -p node@24 npx vitest run packages/samekey/test/stores',
  },
  'better-sqlite3': {
    load() {
      try {
        return optional('better-sqlite3') as Constructor;
      } catch {
        return require('better-sqlite3') as Constructor;
      }
    },
    remedy: 'npm install --prefix tools/optional better-sqlite3@12',
  },
};

/** The clients this Node can load. A missing one is named on the console, and fails where everything is required. */
export function availableClients(): { name: ClientName; open: Open }[] {
  return (Object.keys(SOURCES) as ClientName[]).flatMap((name) => {
    try {
      const Client = SOURCES[name].load();
      return [{ name, open: (path: string) => new Client(path) }];
    } catch (cause) {
      const message = `SKIPPED: SQLite tests with ${name}, which Node ${process.version} cannot load. Run: ${SOURCES[name].remedy}`;
      // A Node before 22.13 has no node:sqlite, whatever is installed.
      if (process.env['SAMEKEY_TEST_REQUIRE'] === 'all' && name !== 'node:sqlite') {
        throw new Error(message, { cause });
      }
      console.warn(message);
      return [];
    }
  });
}

/** A folder for one database, removed by `remove`. */
export function temporaryFile(): { path: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'samekey-sqlite-'));
  return { path: join(folder, 'test.db'), remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The contract's harness: a file per store, and clocks that only `advance` moves. */
export function sqliteHarness(name: string, open: Open): StoreHarness {
  return {
    name: `sqlite with ${name}`,
    async create() {
      const file = temporaryFile();
      const clients: OpenDatabase[] = [];
      let elapsedMs = 0;
      function handle(wallOffsetMs: number): SqliteStore {
        const database = open(file.path);
        clients.push(database);
        return sqliteStore({
          database,
          now: () => Date.UTC(2030, 0) + elapsedMs + wallOffsetMs,
          // Each process counts from a zero of its own.
          monotonicNow: () => elapsedMs + clients.indexOf(database) * 5_000_000,
        });
      }
      const store = handle(0);
      await store.migrate();
      await store.ready();
      return {
        store,
        advance(ms) {
          elapsedMs += ms;
        },
        another: async ({ wallOffsetMs }) => handle(wallOffsetMs),
        transaction: (body) => store.transaction((tx) => body(store.within(tx))),
        async close() {
          for (const client of clients) client.close();
          file.remove();
        },
      };
    },
  };
}
