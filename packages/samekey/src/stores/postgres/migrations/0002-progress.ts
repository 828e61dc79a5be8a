/**
 * What phased and deferred operations have done so far, and their input. Columns without a default take no rewrite of the table,
 * and code that does not know them goes on. None is indexed, so a checkpoint is a HOT update too; unfinished operations are
 * found by `watched`.
 */

import type { Migration } from './index.ts';

export const progress: Migration = {
  number: 2,
  name: 'progress',
  minReader: 1,
  statements: ({ records }) => [
    `ALTER TABLE ${records} ADD COLUMN recovery_point text, ADD COLUMN steps text,
  ADD COLUMN intent_at timestamptz, ADD COLUMN input bytea`,
  ],
};
