/** The SQLite store's options, checked before anything is done with the client. */

import { OptionsError } from '../../core/errors.ts';
import { serviceRow } from '../../store/identity.ts';
import {
  aFunction,
  kindOf,
  readOptions,
  required,
  row,
  type Table,
  trueOrFalse,
  wholeNumber,
} from '../../core/options.ts';
import type { Statfs } from './file-system.ts';
import type { SqliteDatabase } from './client.ts';

/** Options of `sqliteStore`. */
export interface SqliteStoreOptions {
  /**
   * The service whose keys the store holds, such as `orders`: 1 to 48 letters, digits and . _ -. All its processes pass
   * the same name. The first `migrate()` writes it into the file, and a store made for another service is refused
   * there. `*`: whichever it is, for tools.
   */
  readonly service: string;
  /** An open client: `new DatabaseSync(path)` of node:sqlite, or a `Database` of better-sqlite3 or libsql. */
  readonly database: SqliteDatabase;
  /** Longest wait, in milliseconds, for other processes and for open transactions; default 2000. */
  readonly busyTimeMaxMs?: number;
  /**
   * Whether each change of a record's state leaves a row in the audit; default false. In every process: each writes the
   * rows of its own changes.
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
interface CheckedOptions extends Required<Omit<SqliteStoreOptions, 'statfs'>> {
  readonly statfs: Statfs | undefined;
}

/** Beyond ten minutes a wait is a hang. */
const BUSY_LIMIT_MS = 600_000;

const NOT_OPEN = 'database must be an open client of node:sqlite, better-sqlite3 or libsql (synchronous API)';

const ROWS = {
  service: serviceRow({ anyService: true }),
  database: required(
    row((given) => {
      const database = given as Partial<SqliteDatabase> | null;
      if (typeof database?.prepare === 'function' && typeof database.exec === 'function')
        return given as SqliteDatabase;
      throw new OptionsError(`${NOT_OPEN}: it is ${kindOf(given)}.`);
    }),
    `${NOT_OPEN}: it is not given.`,
  ),
  busyTimeMaxMs: wholeNumber(0, BUSY_LIMIT_MS, 2_000),
  auditTransitions: trueOrFalse(false),
  now: aFunction<() => number>(),
  monotonicNow: aFunction<() => number>(),
  random: aFunction<() => number>(),
  statfs: aFunction<Statfs>(),
} satisfies Table<SqliteStoreOptions>;

/** Fills in defaults. Throws `OptionsError` naming the option. */
export function checkOptions(options: SqliteStoreOptions): CheckedOptions {
  const own = readOptions('sqliteStore', ROWS, options);
  return {
    ...own,
    now: own.now ?? Date.now,
    monotonicNow: own.monotonicNow ?? (() => performance.now()),
    random: own.random ?? Math.random,
  };
}
