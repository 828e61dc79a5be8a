/** What a migration is: each is a file of its own, and `index.ts` gathers them in their order. */

import type { Tables } from '../tables.ts';

/** One step of the schema. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  /** The schema version of the oldest code that can work on a database at this version. */
  readonly minReader: number;
  /** Each may be run again. */
  statements(names: Tables): readonly string[];
}
