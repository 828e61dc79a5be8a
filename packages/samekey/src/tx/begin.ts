/** How a transaction begins, in PostgreSQL and in MySQL. */

import { oneOf, readOptions, type Row, type Table } from '../core/options.ts';

/** Isolation levels, in the words of SQL. */
export type Isolation = 'read committed' | 'repeatable read' | 'serializable';

/** Options of a source that begins transactions itself. */
export interface BeginOptions {
  /** Default: the database's own, mostly `read committed` in PostgreSQL and `repeatable read` in MySQL. */
  readonly isolation?: Isolation;
}

/** What the database of a library speaks; MariaDB speaks `mysql`. */
export type LibraryDialect = 'postgres' | 'mysql';

/** Options of a source over a library that speaks both. */
export interface LibraryOptions extends BeginOptions {
  /** What the library was set up for; default `postgres`. */
  readonly dialect?: LibraryDialect;
}

const ISOLATIONS: readonly Isolation[] = ['read committed', 'repeatable read', 'serializable'];

const BEGIN_TABLE = { isolation: oneOf(ISOLATIONS) } satisfies Table<BeginOptions>;

const LIBRARY_TABLE = {
  ...BEGIN_TABLE,
  dialect: oneOf(['postgres', 'mysql'], 'postgres'),
} satisfies Table<LibraryOptions>;

/** The rows of {@link LibraryOptions}, for a source that takes more. */
export const LIBRARY_ROWS: {
  readonly isolation: Row<Isolation, undefined>;
  readonly dialect: Row<LibraryDialect, LibraryDialect>;
} = LIBRARY_TABLE;

/** Reads the options of a source; `what` is its name. Throws `OptionsError`. */
export function readBegin(what: string, options: BeginOptions): Isolation | undefined {
  return readOptions(what, BEGIN_TABLE, options).isolation;
}

/** The same for a library that speaks both. */
export function readLibrary(
  what: string,
  options: LibraryOptions,
): { readonly isolation: Isolation | undefined; readonly dialect: LibraryDialect } {
  return readOptions(what, LIBRARY_TABLE, options);
}

/** BEGIN with its isolation level. */
export function beginStatement(isolation: Isolation | undefined): string {
  return isolation === undefined ? 'BEGIN' : `BEGIN ISOLATION LEVEL ${isolation.toUpperCase()}`;
}
