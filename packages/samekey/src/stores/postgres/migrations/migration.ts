/** What a migration is: each is a file of its own, and `index.ts` gathers them in their order. */

import type { Tables } from '../tables.ts';

/** One step of the schema, applied in one transaction together with its bookkeeping. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  /** The schema version of the oldest code that can work on a database at this version. */
  readonly minReader: number;
  statements(tables: Tables): readonly string[];
  /**
   * Indexes that are built beside the traffic, after the transaction: CREATE INDEX CONCURRENTLY cannot run within one.
   * By name, with what follows it (`ON table (column)`).
   */
  indexes?(tables: Tables): Readonly<Record<string, string>>;
}
