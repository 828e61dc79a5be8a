/** The SQLite store's options, checked before anything is done with the client. */

import { OptionsError } from '../../core/errors.ts';
import { trueOrFalse } from '../../core/settings.ts';
import type { Statfs } from './file-system.ts';
import type { SqliteDatabase } from './sqlite-client.ts';

/** Options of `sqliteStore`. */
export interface SqliteStoreOptions {
  /** An open client: `new DatabaseSync(path)` of node:sqlite, or a `Database` of better-sqlite3 or libsql. */
  readonly database: SqliteDatabase;
  /** Longest wait, in milliseconds, for other processes and for open transactions; default 2000. */
  readonly busyTimeMaxMs?: number;
  /**
   * Whether each change of a record's state leaves a row in the audit; default false. In every process: each writes the rows of its
   * own changes.
   */
  readonly auditTransitions?: boolean;
  /** Test-only wall clock, in milliseconds since 1970; default `Date.now`. */
  readonly now?: () => number;
  /** Test-only monotonic clock, in milliseconds; default `performance.now`. */
  readonly monotonicNow?: () => number;
  /** Test-only randomness for jitter, in [0, 1); default `Math.random`. */
  readonly random?: () => number;
  /** Test-only: the type of the file system a path lies on; default `statfs` of node:fs. */
  readonly statfs?: Statfs;
}

/** The options with their defaults filled in. */
export interface CheckedOptions extends Required<Omit<SqliteStoreOptions, 'statfs'>> {
  readonly statfs: Statfs | undefined;
}

const NAMES = new Set([
  'database',
  'busyTimeMaxMs',
  'auditTransitions',
  'now',
  'monotonicNow',
  'random',
  'statfs',
]);

/** Fills in defaults. Throws `OptionsError` naming the option. */
export function checkOptions(options: SqliteStoreOptions): CheckedOptions {
  for (const name of Object.keys(options ?? {})) {
    if (!NAMES.has(name)) {
      throw new OptionsError(`sqliteStore has no option "${name}": it takes ${[...NAMES].join(', ')}.`);
    }
  }
  const database: Partial<SqliteDatabase> | undefined = options?.database;
  if (typeof database?.prepare !== 'function' || typeof database.exec !== 'function') {
    throw new OptionsError(
      'database must be an open client of node:sqlite, better-sqlite3 or libsql (synchronous API): ' +
        `it is ${database === null ? 'null' : typeof database}.`,
    );
  }
  const busyTimeMaxMs = options.busyTimeMaxMs ?? 2000;
  if (!Number.isSafeInteger(busyTimeMaxMs) || busyTimeMaxMs < 0 || busyTimeMaxMs > BUSY_LIMIT_MS) {
    throw new OptionsError(
      `busyTimeMaxMs must be a whole number of milliseconds from 0 to ${BUSY_LIMIT_MS}; it is ${busyTimeMaxMs}.`,
    );
  }
  for (const name of ['now', 'monotonicNow', 'random', 'statfs'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function') {
      throw new OptionsError(`${name} must be a function; it is ${typeof options[name]}.`);
    }
  }
  return {
    database: options.database,
    busyTimeMaxMs,
    auditTransitions: trueOrFalse('auditTransitions', options.auditTransitions ?? false),
    now: options.now ?? Date.now,
    monotonicNow: options.monotonicNow ?? (() => performance.now()),
    random: options.random ?? Math.random,
    statfs: options.statfs,
  };
}

/** Beyond ten minutes a wait is a hang. */
const BUSY_LIMIT_MS = 600_000;
