/** Opens an SQLite client by name; only the one asked for is loaded. */

import { createRequire } from 'node:module';
import type { SqliteDatabase } from 'samekey/stores/sqlite';
import type { ApiOptions } from './api-protocol.ts';

type Open = new (path: string) => SqliteDatabase & { close(): unknown };

/** Opens the file with the client of this name. */
export function openDatabase(path: string, driver: ApiOptions['driver'] = 'libsql'): InstanceType<Open> {
  const loaded: unknown = createRequire(import.meta.url)(driver);
  const Database = (
    driver === 'node:sqlite' ? (loaded as { DatabaseSync: Open }).DatabaseSync : loaded
  ) as Open;
  return new Database(path);
}
