/**
 * Counts of stored keys by caller, for limits. A caller's count is the sum of its shards: processes that add at the same moment take
 * different rows and do not wait for each other. Shard 0 is made by a recount: a caller without it has never been counted.
 *
 * Half-empty pages: each flush is then a HOT update.
 */

import type { Migration } from './index.ts';

export const counters: Migration = {
  number: 6,
  name: 'counters',
  minReader: 1,
  statements: ({ counters: table }) => [
    `CREATE TABLE ${table} (
  scope text COLLATE "C" NOT NULL,
  shard integer NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (scope, shard)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`,
  ],
};
