/** How a transaction begins, in PostgreSQL and in MySQL. */

import { OptionsError } from '../core/errors.ts';

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

/** Checks both options, and gives the dialect. Throws `OptionsError` for an unknown one. */
export function dialectOf(options: LibraryOptions): LibraryDialect {
  beginStatement(options);
  const { dialect = 'postgres' } = options;
  if (dialect === 'postgres' || dialect === 'mysql') return dialect;
  throw new OptionsError(`dialect is postgres or mysql; it is ${String(dialect)}.`);
}

/** BEGIN with its isolation level. Throws `OptionsError` for an unknown one. */
export function beginStatement({ isolation }: BeginOptions): string {
  if (isolation === undefined) return 'BEGIN';
  if (!ISOLATIONS.includes(isolation)) {
    throw new OptionsError(`isolation is ${ISOLATIONS.join(', ')}; it is ${String(isolation)}.`);
  }
  return `BEGIN ISOLATION LEVEL ${isolation.toUpperCase()}`;
}
