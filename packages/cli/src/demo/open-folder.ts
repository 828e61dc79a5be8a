/** The demo's folder and the database in it. */

import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import Database from 'libsql';
import { CliError } from '../cli-error.ts';

/** The open database and where it lies. */
interface OpenFolder {
  readonly folder: string;
  readonly database: Database.Database;
}

const BUSY_TIME_MAX_MS = 10_000;

/** Opens or creates the folder and its database. Throws `CliError` when that cannot be. */
export function openFolder(dir: string): OpenFolder {
  const folder = makeFolder(dir);
  try {
    const database = new Database(join(folder, 'shop.db'));
    // Opening is lazy about writing; this is not, and waits for another process of the shop that writes.
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIME_MAX_MS}; PRAGMA user_version = 1`);
    return { folder, database };
  } catch (error) {
    throw unusable(folder, error);
  }
}

/** Makes the folder, if it is not there yet, and gives its full name. Throws `CliError` when that cannot be. */
export function makeFolder(dir: string): string {
  const folder = resolve(dir);
  try {
    // Not recursive: Node never comes back from a recursive mkdir below /proc, and a typing error makes no tree of
    // folders.
    if (!existsSync(folder)) mkdirSync(folder);
    if (!statSync(folder).isDirectory()) throw new Error('it is a file');
    return folder;
  } catch (error) {
    throw unusable(folder, error);
  }
}

function unusable(folder: string, error: unknown): CliError {
  return new CliError(
    `The folder ${folder} cannot be used: ${reasonOf(error)}. Mend that, or name another folder with --dir.`,
  );
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'access is denied',
  EROFS: 'the disk is read-only',
  ENOENT: 'the folder above it does not exist',
  ENOTDIR: 'something above it is a file',
  ENOSPC: 'the disk is full',
  SQLITE_READONLY: 'it is read-only',
  SQLITE_CANTOPEN: 'the file shop.db in it cannot be opened',
  SQLITE_NOTADB: 'the file shop.db in it is not an SQLite database',
};

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const known = typeof code === 'string' ? REASONS[code] : undefined;
  return known ?? String(message);
}
