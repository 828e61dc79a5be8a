/**
 * The audit. `seq` is the rowid and never used again (AUTOINCREMENT), so a page goes on where the last one ended although old rows
 * have gone. One index finds what happened to a key, the other what is old enough to go.
 */

import type { Migration } from './index.ts';

export const audit: Migration = {
  number: 4,
  name: 'audit',
  minReader: 1,
  statements: [
    `CREATE TABLE samekey_audit (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  operation TEXT,
  attempt INTEGER NOT NULL,
  act TEXT NOT NULL,
  from_state TEXT,
  to_state TEXT,
  reason TEXT,
  actor TEXT
) STRICT`,
    'CREATE INDEX samekey_audit_key ON samekey_audit (scope, key)',
    'CREATE INDEX samekey_audit_act ON samekey_audit (act, at)',
    `CREATE INDEX samekey_messages_dead_owner ON samekey_messages (scope, key) WHERE state = 'dead'`,
  ],
};
