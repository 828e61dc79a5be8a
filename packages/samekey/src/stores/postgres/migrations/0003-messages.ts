/**
 * Messages of the outbox. A row is inserted, taken once (mostly) and deleted, so what counts is how little each step writes:
 *
 * - The one unique index is on `place`, a number that grows: its pages are written at one end and thrown away at the other.
 *   `id` is random and has an index among dead letters only.
 * - Partial indexes: a message that is taken leaves the index of the ready ones, so a take reads from its beginning and meets
 *   nothing but what is due. Messages that wait behind their group are in none but their group's.
 * - No CHECK on states: newer code may write states this schema's code does not know.
 * - Vacuum after a few thousand dead rows, whatever the size of the table: every message leaves two.
 */

import type { Migration } from './index.ts';

export const messages: Migration = {
  number: 3,
  name: 'messages',
  minReader: 1,
  statements: ({ messages: table, meta }) => [
    `CREATE TABLE ${table} (
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
    `CREATE INDEX samekey_messages_ready ON ${table} (topic, due_at, place) WHERE state = 'ready' AND NOT parked`,
    `CREATE INDEX samekey_messages_leased ON ${table} (topic, due_at) WHERE state = 'leased'`,
    `CREATE INDEX samekey_messages_group ON ${table} (group_key, place) WHERE group_key IS NOT NULL AND state <> 'dead'`,
    `CREATE INDEX samekey_messages_parked ON ${table} (group_key) WHERE parked`,
    `CREATE INDEX samekey_messages_dead ON ${table} (id) WHERE state = 'dead'`,
    `INSERT INTO ${meta} (name, value) VALUES ('messages_listened_until', 0) ON CONFLICT (name) DO NOTHING`,
  ],
};
