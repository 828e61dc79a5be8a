/**
 * The audit: rows that are only ever added, and deleted by age. Why each choice:
 *
 * - An identity column numbers them: whoever may insert needs no right on a sequence.
 * - One index finds what happened to a key, the other what is old enough to go, act by act: rows about transitions may be many and
 *   short-lived beside few others that are kept for years.
 * - No CHECK on acts: newer code may write acts this schema's code does not know.
 * - Nothing of Samekey updates a row: `REVOKE UPDATE` costs nothing, and without `DELETE` only pruning fails.
 *
 * And an index to find the dead letters of records that are erased; only dead ones that belong to a record are in it.
 */

import type { Migration } from './index.ts';

export const audit: Migration = {
  number: 4,
  name: 'audit',
  minReader: 1,
  statements: ({ audit: table, messages }) => [
    `CREATE TABLE ${table} (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL,
  scope text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  operation text,
  attempt integer NOT NULL,
  act text COLLATE "C" NOT NULL,
  from_state text,
  to_state text,
  reason text,
  actor text
)`,
    `CREATE INDEX samekey_audit_key ON ${table} (scope, key, seq)`,
    `CREATE INDEX samekey_audit_act ON ${table} (act, at)`,
    `CREATE INDEX samekey_messages_dead_owner ON ${messages} (scope, key) WHERE state = 'dead' AND scope IS NOT NULL`,
  ],
};
