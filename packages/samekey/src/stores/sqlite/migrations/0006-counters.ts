/**
 * Counts of stored keys by caller, for limits. One writer at a time has the file, so one shard is enough; the column is there for a
 * schema that is alike in every store.
 */

import type { Migration } from './index.ts';

export const counters: Migration = {
  number: 6,
  name: 'counters',
  minReader: 1,
  statements: [
    `CREATE TABLE samekey_counters (
  scope TEXT NOT NULL,
  shard INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (scope, shard)
) STRICT, WITHOUT ROWID`,
  ],
};
