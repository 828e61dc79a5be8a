/**
 * Messages of the outbox. A message that is taken leaves the index of the ready ones; those that wait behind their group are in
 * none but their group's. `place` is the rowid and is never used again (AUTOINCREMENT), so it only grows.
 */

import type { Migration } from './index.ts';

export const messages: Migration = {
  number: 3,
  name: 'messages',
  minReader: 1,
  statements: [
    `CREATE TABLE samekey_messages (
  place INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL,
  topic TEXT NOT NULL,
  group_key TEXT,
  state TEXT NOT NULL,
  parked INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  started INTEGER NOT NULL,
  finished INTEGER NOT NULL,
  proven INTEGER NOT NULL,
  forgiven INTEGER NOT NULL,
  lease_id TEXT,
  lease_ms INTEGER,
  extended INTEGER NOT NULL DEFAULT 0,
  provider_id TEXT,
  last_error TEXT,
  scope TEXT,
  key TEXT,
  claim_id TEXT,
  attempt INTEGER,
  headers TEXT,
  payload TEXT NOT NULL
)`,
    `CREATE INDEX samekey_messages_ready ON samekey_messages (topic, due_at, place) WHERE state = 'ready' AND parked = 0`,
    `CREATE INDEX samekey_messages_leased ON samekey_messages (topic, place) WHERE state = 'leased'`,
    `CREATE INDEX samekey_messages_group ON samekey_messages (group_key, place) WHERE group_key IS NOT NULL AND state <> 'dead'`,
    `CREATE INDEX samekey_messages_dead ON samekey_messages (id) WHERE state = 'dead'`,
  ],
};
