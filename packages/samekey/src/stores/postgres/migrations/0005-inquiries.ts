/**
 * How often a reconciler asked about an unknown outcome, and two indexes that hold unknown outcomes only: by when the next look is
 * due, and by age. A record has `reconcile_after` while it is unknown and null before and after, so a claim, a renewal and a
 * finish change no indexed column and stay HOT; the state itself must not stand in an index, nor `locked_until`.
 */

import { IS_UNKNOWN, MAY_BE_DUE } from '../tables.ts';
import type { Migration } from './index.ts';

export const inquiries: Migration = {
  number: 5,
  name: 'inquiries',
  minReader: 1,
  statements: ({ records }) => [`ALTER TABLE ${records} ADD COLUMN inquiries integer NOT NULL DEFAULT 0`],
  indexes: ({ records }) => ({
    samekey_records_reconcile: `ON ${records} (reconcile_after) WHERE ${MAY_BE_DUE}`,
    samekey_records_unknown: `ON ${records} (created_at) WHERE ${IS_UNKNOWN}`,
  }),
};
