/** Samekey's tables in an SQLite file, by the store itself, with the client that this command brings along. */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import Database from 'libsql';
import { type SqliteStore, sqliteMigrations, sqliteStore } from 'samekey/stores/sqlite';
import { CliError } from '../cli-error.ts';
import {
  ANY_SERVICE,
  type DatabaseSchema,
  type SchemaChoices,
  type SchemaKind,
  type SchemaStatus,
} from './database-schema.ts';

/** Its tables. */
export const sqliteTables: SchemaKind = { open: sqliteSchema, sql: sqliteSql };

/** Opens the file when first asked; only `migrate` makes one. */
function sqliteSchema(path: string, { service = ANY_SERVICE }: SchemaChoices): DatabaseSchema {
  const file = resolve(path);
  let open: ReturnType<typeof openFile> | undefined;

  function opened(): NonNullable<typeof open> {
    open ??= openFile(file, service);
    return open;
  }

  return {
    status: () =>
      told(file, async (): Promise<SchemaStatus> => {
        // Looking must not make an empty file, which the next one would take for a database.
        if (existsSync(file)) return opened().store.status();
        const nowhere = new Database(':memory:');
        try {
          return await sqliteStore({ service, database: nowhere }).status();
        } finally {
          nowhere.close();
        }
      }),
    migrate: (request) => told(file, () => opened().store.migrate(request)),
    identity: () => told(file, () => opened().any.identity()),
    ready: () => told(file, () => opened().store.ready()),
    async close() {
      open?.database.close();
    },
  };
}

/** The SQL. Nothing to do is no text: the mode of the file alone is no migration. */
function sqliteSql({ service }: SchemaChoices, from: number): string {
  const sql = sqliteMigrations({ from, ...(service === undefined ? {} : { service }) });
  return sql.includes('BEGIN') ? sql : '';
}

interface OpenFile {
  readonly database: Database.Database;
  /** Of the service that was named. */
  readonly store: SqliteStore;
  /** Whosever the file is. */
  readonly any: SqliteStore;
}

function openFile(file: string, service: string): OpenFile {
  try {
    const database = new Database(file);
    return {
      database,
      store: sqliteStore({ service, database }),
      any: sqliteStore({ service: ANY_SERVICE, database }),
    };
  } catch (error) {
    // The client has no code for this.
    throw unusable(file, error);
  }
}

/** The client's own errors as what to do. */
async function told<T>(file: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const { code } = error as { code?: unknown };
    throw typeof code === 'string' && code.startsWith('SQLITE_') ? unusable(file, error) : error;
  }
}

function unusable(file: string, error: unknown): CliError {
  const reason = error instanceof Error ? error.message : String(error);
  return new CliError(
    `The SQLite file ${file} cannot be used: ${reason}. Check path, owner and mode; its folder must be there.`,
  );
}
