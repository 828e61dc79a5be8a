/**
 * How often a reconciler asked about an unknown outcome, and two indexes that hold unknown outcomes only: by when the next look is
 * due, and by since when nobody knows. `lease_ms` is how long the reconciler that asks has it for itself: others watch that time pass
 * on clocks of their own. Only unknown records have `reconcile_after`, so claims and answers write neither.
 */

import type { Migration } from './index.ts';

export const inquiries: Migration = {
  number: 5,
  name: 'inquiries',
  minReader: 1,
  statements: [
    'ALTER TABLE samekey_records ADD COLUMN inquiries INTEGER NOT NULL DEFAULT 0',
    'ALTER TABLE samekey_records ADD COLUMN lease_ms INTEGER',
    'CREATE INDEX samekey_reconcile ON samekey_records (reconcile_after) WHERE reconcile_after IS NOT NULL',
    'CREATE INDEX samekey_unknown ON samekey_records (locked_until) WHERE reconcile_after IS NOT NULL',
  ],
};
