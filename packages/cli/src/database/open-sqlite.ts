/** An SQLite file, opened for an operator with the client that this command brings along. */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import Database from 'libsql';
import { type SqliteStore, sqliteStore } from 'samekey/stores/sqlite';
import { CliError, messageOf } from '../cli-error.ts';
import type { SqlAddress } from './address.ts';
import { ANY_SERVICE } from './database-schema.ts';
import type { OpenDatabase, Row } from './opened.ts';

/** Beside an application that writes. */
const BUSY_TIME_MAX_MS = 10_000;

/** Throws `CliError` where there is no such file: looking makes none. */
export function openSqlite(address: SqlAddress, path: string): OpenDatabase {
  const file = resolve(path);
  if (!existsSync(file)) {
    throw new CliError(`There is no file ${file}: check the path, or make it with \`npx samekey migrate\`.`);
  }
  const { database, store } = opened(file);
  return {
    address,
    store,
    now: async () => Date.now(),
    query: async (sql, values = []) => database.prepare(sql).all(...values) as Row[],
    async close() {
      await store.close();
      database.close();
    },
  };
}

function opened(file: string): { readonly database: Database.Database; readonly store: SqliteStore } {
  try {
    const database = new Database(file);
    return {
      database,
      store: sqliteStore({ service: ANY_SERVICE, database, busyTimeMaxMs: BUSY_TIME_MAX_MS }),
    };
  } catch (error) {
    throw new CliError(
      `The SQLite file ${file} cannot be used: ${messageOf(error)}. Check path, owner and mode.`,
    );
  }
}
