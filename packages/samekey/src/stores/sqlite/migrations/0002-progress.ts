/**
 * What phased and deferred operations have done so far, and their input. New columns hold nothing in old rows, so code that does
 * not know them goes on.
 */

import type { Migration } from './index.ts';

export const progress: Migration = {
  number: 2,
  name: 'progress',
  minReader: 1,
  statements: [
    'ALTER TABLE samekey_records ADD COLUMN recovery_point TEXT',
    'ALTER TABLE samekey_records ADD COLUMN steps TEXT',
    'ALTER TABLE samekey_records ADD COLUMN intent_at INTEGER',
    'ALTER TABLE samekey_records ADD COLUMN input BLOB',
  ],
};
