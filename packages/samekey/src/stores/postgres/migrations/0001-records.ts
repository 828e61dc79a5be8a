/**
 * The records and the bookkeeping. Why each choice (figures in docs/internals/postgres.md):
 *
 * - fillfactor 30: a claim's row more than doubles when its answer is written, and a group of claims is finished by one
 *   transaction, so nothing can be pruned in between: a page filled to 30 % takes the answers of all its rows. Every finish
 *   is then a HOT update, which writes no index entry; the finished table is as large as it would be anyway.
 * - No index holds a column that a finish changes: created_at and reap_after are set at the claim, watched with the first
 *   renewal. The index on watched holds long-running and resumed claims only.
 * - COLLATE "C": keys are bytes, not words (F35), and no collation of the system's can change under the index.
 * - Header lines are JSON as text: jsonb refuses escapes that headers may hold, and nobody searches in them. Bodies are bytes.
 * - No CHECK on states: newer code may write states this schema's code does not know.
 * - Vacuum at 2 % and not at 20 %: expired keys leave as many dead rows as there are keys.
 */

import type { Migration } from './index.ts';

export const records: Migration = {
  number: 1,
  name: 'records',
  minReader: 1,
  statements: ({ records: table, meta }) => [
    `CREATE TABLE ${meta} (name text PRIMARY KEY, value bigint NOT NULL)`,
    `INSERT INTO ${meta} (name, value) VALUES ('schema_version', 0), ('min_reader', 1), ('swept_to', 0)`,
    `CREATE TABLE ${table} (
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
  tombstone_ms bigint NOT NULL,
  watched boolean NOT NULL DEFAULT false,
  reap_after timestamptz NOT NULL,
  response_body bytea,
  CONSTRAINT samekey_records_scope_key UNIQUE (scope, key)
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)`,
    `CREATE INDEX samekey_records_created ON ${table} (created_at)`,
    `CREATE INDEX samekey_records_reap ON ${table} (reap_after)`,
    `CREATE INDEX samekey_records_watched ON ${table} (created_at) WHERE watched`,
  ],
};
