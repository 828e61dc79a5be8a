/**
 * All tables, in one step. Why each choice (figures in docs/internals/postgres.md):
 *
 * - Every table has a primary key, the records' is (scope, key): logical replication, and whatever reads a publication
 *   for all tables, refuses to update a row that it cannot name (F75).
 * - No CHECK on states or acts: newer code may write such as this schema's code does not know. Text is COLLATE "C":
 *   keys are bytes, not words (F35), and no collation of the system's can change under the index.
 *
 * Records:
 * - fillfactor 30: a claim's row more than doubles when its answer is written, and a group of claims is finished by one
 *   transaction, so nothing can be pruned in between: a page filled to 30 % takes the answers of all its rows. Every
 *   finish is then a HOT update, which writes no index entry; the finished table is as large as it would be anyway.
 * - No index holds a column that a finish changes: created_at and reap_after are set at the claim, watched with the
 *   first renewal. The index on watched holds long-running and resumed claims only, so a checkpoint is a HOT update
 *   too. Two indexes hold unknown outcomes only: a record has `reconcile_after` while it is unknown and null before and
 *   after; the state itself must not stand in an index, nor `locked_until`.
 * - Header lines are JSON as text: jsonb refuses escapes that headers may hold, and nobody searches in them. Bodies are
 *   bytes.
 * - Vacuum at 2 % and not at 20 %: expired keys leave as many dead rows as there are keys.
 *
 * Messages of the outbox: a row is inserted, taken once (mostly) and deleted, so what counts is how little each step
 * writes.
 * - The one unique index is on `place`, a number that grows: its pages are written at one end and thrown away at the
 *   other. `id` is random and has an index among dead letters only.
 * - Partial indexes: a message that is taken leaves the index of the ready ones, so a take reads from its beginning and
 *   meets nothing but what is due. Messages that wait behind their group are in none but their group's. One finds the
 *   dead letters of records that are erased; only dead ones that belong to a record are in it.
 * - Vacuum after a few thousand dead rows, whatever the size of the table: every message leaves two.
 *
 * The audit: rows that are only ever added, and deleted by age.
 * - An identity column numbers them: whoever may insert needs no right on a sequence.
 * - One index finds what happened to a key, the other what is old enough to go, act by act: rows about transitions may
 *   be many and short-lived beside few others that are kept for years.
 * - Nothing of Samekey updates a row: `REVOKE UPDATE` costs nothing, and without `DELETE` only pruning fails.
 *
 * Counts of stored keys by caller, for limits: a caller's count is the sum of its shards, so that processes that add at
 * the same moment take different rows and do not wait for each other. Shard 0 is made by a recount: a caller without it
 * has never been counted. Half-empty pages: each flush is then a HOT update.
 *
 * References: where a webhook's words lead. Written with intents, notes and handed-over messages only, deleted with
 * their records: one index finds them by what the provider has, one by the record. Open intents have an index among the
 * records: a record without an effect is never in it, so its updates stay HOT; what an intent pays for it is nothing
 * beside its call.
 */

import { IS_UNKNOWN, MAY_BE_DUE } from '../tables.ts';
import type { Migration } from './migration.ts';

export const allTables: Migration = {
  number: 1,
  name: 'tables',
  minReader: 1,
  statements: ({ records, messages, audit, counters, references, meta }) => [
    `CREATE TABLE ${meta} (name text PRIMARY KEY, value bigint NOT NULL, label text)`,
    `INSERT INTO ${meta} (name, value) VALUES ('schema_version', 0), ('min_reader', 1), ('swept_to', 0), ('last_now', 0), ('messages_listened_until', 0)`,
    `CREATE TABLE ${records} (
  scope text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  operation text NOT NULL,
  state text NOT NULL,
  attempt integer NOT NULL,
  claim_id text NOT NULL,
  locked_until timestamptz NOT NULL,
  claim_ttl_ms bigint NOT NULL,
  renewals integer NOT NULL,
  when_claim_ends text NOT NULL,
  fingerprint_label text,
  fingerprint_digest text,
  proof text,
  reason text,
  response_status integer,
  response_headers text,
  response_trailers text,
  format_version integer NOT NULL,
  seal_key_id text,
  reconcile_after timestamptz,
  created_at timestamptz NOT NULL,
  finished_at timestamptz,
  expires_at timestamptz NOT NULL,
  replay_min_ms bigint NOT NULL,
  attempt_max bigint NOT NULL,
  tombstone_ms bigint NOT NULL,
  watched boolean NOT NULL DEFAULT false,
  reap_after timestamptz NOT NULL,
  recovery_point text,
  intent_at timestamptz,
  inquiries integer NOT NULL DEFAULT 0,
  steps text,
  input bytea,
  response_body bytea,
  CONSTRAINT samekey_records_pkey PRIMARY KEY (scope, key)
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)`,
    `CREATE INDEX samekey_records_created ON ${records} (created_at)`,
    `CREATE INDEX samekey_records_reap ON ${records} (reap_after)`,
    `CREATE INDEX samekey_records_watched ON ${records} (created_at) WHERE watched`,
    `CREATE INDEX samekey_records_reconcile ON ${records} (reconcile_after) WHERE ${MAY_BE_DUE}`,
    `CREATE INDEX samekey_records_unknown ON ${records} (created_at) WHERE ${IS_UNKNOWN}`,
    `CREATE INDEX samekey_records_intent ON ${records} (operation, created_at) WHERE intent_at IS NOT NULL`,
    `CREATE TABLE ${messages} (
  place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  group_key text COLLATE "C",
  state text COLLATE "C" NOT NULL DEFAULT 'ready',
  parked boolean NOT NULL DEFAULT false,
  due_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  started integer NOT NULL DEFAULT 0,
  finished integer NOT NULL DEFAULT 0,
  proven integer NOT NULL DEFAULT 0,
  forgiven integer NOT NULL DEFAULT 0,
  lease_id text,
  provider_id text,
  last_error text,
  scope text COLLATE "C",
  key text COLLATE "C",
  claim_id text,
  attempt integer,
  headers text,
  payload text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000)`,
    `CREATE INDEX samekey_messages_ready ON ${messages} (topic, due_at, place) WHERE state = 'ready' AND NOT parked`,
    `CREATE INDEX samekey_messages_leased ON ${messages} (topic, due_at) WHERE state = 'leased'`,
    `CREATE INDEX samekey_messages_group ON ${messages} (group_key, place) WHERE group_key IS NOT NULL AND state <> 'dead'`,
    `CREATE INDEX samekey_messages_parked ON ${messages} (group_key) WHERE parked`,
    `CREATE INDEX samekey_messages_dead ON ${messages} (id) WHERE state = 'dead'`,
    `CREATE TABLE ${audit} (
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
    `CREATE INDEX samekey_audit_key ON ${audit} (scope, key, seq)`,
    `CREATE INDEX samekey_audit_act ON ${audit} (act, at)`,
    `CREATE INDEX samekey_messages_dead_owner ON ${messages} (scope, key) WHERE state = 'dead' AND scope IS NOT NULL`,
    `CREATE TABLE ${counters} (
  scope text COLLATE "C" NOT NULL,
  shard integer NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (scope, shard)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`,
    `CREATE TABLE ${references} (
  reference text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  attempt integer NOT NULL,
  effect text,
  PRIMARY KEY (reference, scope, key)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)`,
    `CREATE INDEX samekey_references_record ON ${references} (scope, key)`,
  ],
};
