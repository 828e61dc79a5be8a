/** How a transaction of PostgreSQL begins. */

import { OptionsError } from '../core/errors.ts';

/** Isolation levels of PostgreSQL, in the words of SQL. */
export type Isolation = 'read committed' | 'repeatable read' | 'serializable';

/** Options of a source that begins transactions itself. */
export interface BeginOptions {
  /** Default: the database's own, mostly `read committed`. */
  readonly isolation?: Isolation;
}

const ISOLATIONS: readonly Isolation[] = ['read committed', 'repeatable read', 'serializable'];

/** BEGIN with its isolation level. Throws `OptionsError` for an unknown one. */
export function beginStatement({ isolation }: BeginOptions): string {
  if (isolation === undefined) return 'BEGIN';
  if (!ISOLATIONS.includes(isolation)) {
    throw new OptionsError(`isolation is ${ISOLATIONS.join(', ')}; it is ${String(isolation)}.`);
  }
  return `BEGIN ISOLATION LEVEL ${isolation.toUpperCase()}`;
}
