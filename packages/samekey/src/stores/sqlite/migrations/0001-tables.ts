/**
 * All tables, in one step, each with a primary key.
 *
 * Records. Measured on Node 24, ext4, synchronous=FULL, 200,000 rows with answers of 300 bytes, random keys, claims and
 * finishes in groups of 64: a rowid table with a unique index took 20,700 keys/s, WITHOUT ROWID 10,400 (rows live in
 * the order of their random keys, so each flush dirties as many wide pages as it has rows; the rowid table appends).
 * Without the two indexes it took 24,500. They pay for themselves: `samekey_open` holds only rows that are not final,
 * so sweeping and looking for unknown outcomes costs what is open; `samekey_purge` gets its entry when a record ends,
 * so a claim does not pay for it, and reaping costs what is due. https://sqlite.org/partialindex.html,
 * https://sqlite.org/withoutrowid.html Two more hold unknown outcomes only: by when the next look is due, and by since
 * when nobody knows. Only unknown records have `reconcile_after`, so claims and answers write neither. `lease_ms` is
 * how long the reconciler that asks has it for itself: others watch that time pass on clocks of their own.
 *
 * No CHECK on states: newer code may write states this schema's code does not know. Text is compared BINARY (F35).
 * STRICT keeps a driver from storing a number as text or text as bytes. The body stands last: reading the columns
 * before it does not walk its overflow pages.
 *
 * Messages of the outbox: one that is taken leaves the index of the ready ones; those that wait behind their group are
 * in none but their group's. `place` is the rowid and is never used again (AUTOINCREMENT), so it only grows.
 *
 * The audit: `seq` is the rowid and never used again (AUTOINCREMENT), so a page goes on where the last one ended
 * although old rows have gone. One index finds what happened to a key, the other what is old enough to go.
 *
 * Counts of stored keys by caller, for limits. One writer at a time has the file, so one shard is enough; the column is
 * there for a schema that is alike in every store.
 *
 * References: where a webhook's words lead. Rows live in their key, and there is one other way to them: by the record
 * that they go with.
 */

import type { Migration } from './migration.ts';

export const tables: Migration = {
  number: 1,
  name: 'tables',
  minReader: 1,
  statements: [
    `CREATE TABLE samekey_meta (
  name TEXT PRIMARY KEY NOT NULL,
  value INTEGER NOT NULL,
  label TEXT
) STRICT, WITHOUT ROWID`,
    `INSERT INTO samekey_meta (name, value) VALUES ('last_now', 0), ('min_reader', 1)`,
    `CREATE TABLE samekey_records (
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  operation TEXT NOT NULL,
  state TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  claim_id TEXT NOT NULL,
  locked_until INTEGER NOT NULL,
  claim_ttl_ms INTEGER NOT NULL,
  renewals INTEGER NOT NULL,
  when_claim_ends TEXT NOT NULL,
  fingerprint_label TEXT,
  fingerprint_digest TEXT,
  proof TEXT,
  reason TEXT,
  response_status INTEGER,
  response_headers TEXT,
  response_trailers TEXT,
  format_version INTEGER NOT NULL,
  seal_key_id TEXT,
  reconcile_after INTEGER,
  inquiries INTEGER NOT NULL,
  lease_ms INTEGER,
  created_at INTEGER NOT NULL,
  finished_at INTEGER,
  expires_at INTEGER NOT NULL,
  replay_min_ms INTEGER NOT NULL,
  attempt_max INTEGER NOT NULL,
  tombstone_ms INTEGER NOT NULL,
  recovery_point TEXT,
  intent_at INTEGER,
  steps TEXT,
  input BLOB,
  response_body BLOB,
  PRIMARY KEY (scope, key)
) STRICT`,
    `CREATE INDEX samekey_open ON samekey_records (state) WHERE state NOT IN ('completed', 'failed')`,
    `CREATE INDEX samekey_purge ON samekey_records (state, expires_at + tombstone_ms)
  WHERE state IN ('completed', 'failed', 'retryable')`,
    'CREATE INDEX samekey_reconcile ON samekey_records (reconcile_after) WHERE reconcile_after IS NOT NULL',
    'CREATE INDEX samekey_unknown ON samekey_records (locked_until) WHERE reconcile_after IS NOT NULL',
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
    `CREATE TABLE samekey_counters (
  scope TEXT NOT NULL,
  shard INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (scope, shard)
) STRICT, WITHOUT ROWID`,
    `CREATE TABLE samekey_references (
  reference TEXT NOT NULL,
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  effect TEXT,
  PRIMARY KEY (reference, scope, key)
) STRICT, WITHOUT ROWID`,
    'CREATE INDEX samekey_references_record ON samekey_references (scope, key)',
  ],
};
