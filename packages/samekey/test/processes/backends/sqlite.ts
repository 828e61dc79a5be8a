/** SQLite: a place is a file of its own; it has no server that could suffer anything. */

import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SqliteDatabase, sqliteStore } from 'samekey/stores/sqlite';
import { type BackendKind, type StoreAddress, textOf } from './backend.ts';

type Open = new (path: string) => SqliteDatabase & { close(): unknown };

/** Address: `path`, and `driver` (default libsql; `node:sqlite` needs Node 22.16, better-sqlite3 its package). */
export const sqliteBackend: BackendKind = {
  name: 'sqlite',
  isAvailable: () => true,
  open(address) {
    const database = openDatabase(address);
    const store = sqliteStore({ service: 'test', database });
    return {
      store,
      close: async () => {
        await store.close();
        database.close();
      },
    };
  },
  start: async () => ({
    name: 'sqlite',
    faults: {},
    async createPlace() {
      const folder = mkdtempSync(join(tmpdir(), 'samekey-api-'));
      const address = { backend: 'sqlite', path: join(folder, 'samekey.db') };
      return {
        address,
        direct: address,
        remove: async () => rmSync(folder, { recursive: true, force: true }),
      };
    },
    close: async () => undefined,
  }),
};

/** Only the client that is asked for is loaded. */
function openDatabase(address: StoreAddress): InstanceType<Open> {
  const driver = address['driver'] ?? 'libsql';
  const loaded: unknown = createRequire(import.meta.url)(String(driver));
  const Database = (
    driver === 'node:sqlite' ? (loaded as { DatabaseSync: Open }).DatabaseSync : loaded
  ) as Open;
  return new Database(textOf(address, 'path'));
}
