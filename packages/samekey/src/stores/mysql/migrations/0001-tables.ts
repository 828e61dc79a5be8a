/**
 * All tables, in one step, each with a primary key. Ids are VARBINARY, so that no collation folds case or drops
 * trailing blanks (F35); two of 1,024 bytes fit InnoDB's index of 3,072. Rows are kept in the order of `id`, which
 * grows: kept in the order of random keys, each insert would go to a page of its own.
 *
 * One narrow index finds all that is due, because `due_at` means what the state needs: the end of a claim or deadline,
 * since when nobody knows, or when it may be deleted. Times are milliseconds since 1970 (F45). No CHECK on states:
 * newer code may write states this schema's code does not know. The body stands last. `holder` is the number of the
 * session that wrote the row last.
 *
 * Messages of the outbox. There are no partial indexes, so generated columns are null where a row does not concern an
 * index: `line` of a message that is alone or dead, `parked_line` of one that may be taken, `dead_id` and `dead_scope`
 * of one that lives. Stored ones, because indexes on virtual columns have had faults on both servers.
 *
 * - A take reads `samekey_messages_due` from its beginning: what is taken or parked has left that part of it.
 * - Rows lie in the order of `place`, which grows and is what a group goes by.
 * - `samekey_groups` has a fixed number of rows, which transactions that enqueue into a group lock: a lock that ends
 *   with them, without a row per group that somebody must make and delete. Two groups may share one.
 *
 * References: where a webhook's words lead. Written with intents, notes and handed-over messages only, deleted with
 * their records, which they name by the number of the row. Calls under way are looked for among the records that are
 * not final: an index on `intent_at` would have an entry for each record, because nulls have one here.
 */

import { GROUP_SLOTS } from '../tables.ts';
import type { Migration } from './migration.ts';

const TEXT = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';
const WORD = 'CHARACTER SET ascii COLLATE ascii_bin';
const ENGINE = 'ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';

export const tables: Migration = {
  number: 1,
  name: 'tables',
  minReader: 1,
  statements: ({ records, audit, counters, messages, groups, references, meta }) => [
    `CREATE TABLE IF NOT EXISTS ${records} (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  scope VARBINARY(1024) NOT NULL,
  \`key\` VARBINARY(1024) NOT NULL,
  operation VARCHAR(2048) ${TEXT} NOT NULL,
  state VARCHAR(32) ${WORD} NOT NULL,
  attempt INT NOT NULL,
  claim_id VARBINARY(512) NOT NULL,
  locked_until BIGINT NOT NULL,
  claim_ttl_ms BIGINT NOT NULL,
  renewals INT NOT NULL,
  when_claim_ends VARCHAR(32) ${WORD} NOT NULL,
  fingerprint_label VARBINARY(512),
  fingerprint_digest VARBINARY(512),
  proof VARCHAR(32) ${WORD},
  reason TEXT ${TEXT},
  response_status INT,
  response_headers LONGTEXT ${TEXT},
  response_trailers LONGTEXT ${TEXT},
  format_version INT NOT NULL,
  seal_key_id VARBINARY(512),
  reconcile_after BIGINT,
  inquiries INT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  finished_at BIGINT,
  expires_at BIGINT NOT NULL,
  replay_min_ms BIGINT NOT NULL,
  attempt_max BIGINT NOT NULL,
  tombstone_ms BIGINT NOT NULL,
  recovery_point TEXT ${TEXT},
  steps LONGTEXT ${TEXT},
  intent_at BIGINT,
  input LONGBLOB,
  holder BIGINT UNSIGNED,
  due_at BIGINT GENERATED ALWAYS AS (CASE WHEN state IN ('completed', 'failed', 'retryable') THEN expires_at + tombstone_ms ELSE locked_until END) STORED,
  response_body LONGBLOB,
  UNIQUE KEY samekey_identity (scope, \`key\`),
  KEY samekey_due (state, due_at),
  KEY samekey_reconcile (reconcile_after),
  KEY samekey_created (created_at)
) ${ENGINE}`,
    `CREATE TABLE IF NOT EXISTS ${audit} (
  seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  at BIGINT NOT NULL,
  scope VARBINARY(1024) NOT NULL,
  \`key\` VARBINARY(1024) NOT NULL,
  operation VARCHAR(2048) ${TEXT},
  attempt INT NOT NULL,
  act VARCHAR(32) ${WORD} NOT NULL,
  from_state VARCHAR(32) ${WORD},
  to_state VARCHAR(32) ${WORD},
  reason TEXT ${TEXT},
  actor VARCHAR(1000) ${TEXT},
  KEY samekey_audit_key (scope, \`key\`),
  KEY samekey_audit_act (act, at)
) ${ENGINE}`,
    countersTable(counters),
    `CREATE TABLE IF NOT EXISTS ${messages} (
  place BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  id VARBINARY(512) NOT NULL,
  topic VARBINARY(1024) NOT NULL,
  group_key VARBINARY(1024),
  state VARCHAR(32) ${WORD} NOT NULL,
  parked TINYINT NOT NULL,
  due_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  started INT NOT NULL,
  finished INT NOT NULL,
  proven INT NOT NULL,
  forgiven INT NOT NULL,
  lease_id VARBINARY(512),
  provider_id LONGTEXT ${TEXT},
  last_error LONGTEXT ${TEXT},
  scope VARBINARY(1024),
  \`key\` VARBINARY(1024),
  claim_id VARBINARY(512),
  attempt INT,
  line VARBINARY(1024) GENERATED ALWAYS AS (CASE WHEN state = 'dead' THEN NULL ELSE group_key END) STORED,
  parked_line VARBINARY(1024) GENERATED ALWAYS AS (CASE WHEN parked = 1 THEN group_key END) STORED,
  dead_id VARBINARY(512) GENERATED ALWAYS AS (CASE WHEN state = 'dead' THEN id END) STORED,
  dead_scope VARBINARY(1024) GENERATED ALWAYS AS (CASE WHEN state = 'dead' THEN scope END) STORED,
  headers LONGTEXT ${TEXT},
  payload LONGTEXT ${TEXT} NOT NULL,
  KEY samekey_messages_due (topic, state, parked, due_at, place),
  KEY samekey_messages_line (line, place),
  KEY samekey_messages_parked (parked_line),
  KEY samekey_messages_dead (dead_id),
  KEY samekey_messages_dead_owner (dead_scope, \`key\`)
) ${ENGINE}`,
    `CREATE TABLE IF NOT EXISTS ${groups} (slot INT NOT NULL PRIMARY KEY) ${ENGINE}`,
    referencesTable(references),
    // Without WHERE its ON would be a join's.
    `INSERT INTO ${meta} (name, value) VALUES ('last_now', 0) ON DUPLICATE KEY UPDATE value = value`,
    `INSERT INTO ${groups} (slot) SELECT ${numbers(GROUP_SLOTS)} WHERE TRUE ON DUPLICATE KEY UPDATE slot = VALUES(slot)`,
  ],
};

function countersTable(counters: string): string {
  return `CREATE TABLE IF NOT EXISTS ${counters} (
  scope VARBINARY(1024) NOT NULL,
  shard INT NOT NULL,
  count BIGINT NOT NULL,
  PRIMARY KEY (scope, shard)
) ${ENGINE}`;
}

function referencesTable(references: string): string {
  return `CREATE TABLE IF NOT EXISTS ${references} (
  reference VARBINARY(512) NOT NULL,
  record_id BIGINT UNSIGNED NOT NULL,
  created_at BIGINT NOT NULL,
  attempt INT NOT NULL,
  effect TEXT ${TEXT},
  PRIMARY KEY (reference, record_id),
  KEY samekey_references_record (record_id)
) ${ENGINE}`;
}

/** SQL that gives 0 … count - 1, a power of 16. */
function numbers(count: number): string {
  const digits = Array.from({ length: 16 }, (_, n) => `SELECT ${n} AS n`).join(' UNION ALL ');
  const places = Array.from({ length: Math.round(Math.log2(count) / 4) }, (_, i) => `d${i}`);
  const sum = places.map((name, i) => `${name}.n * ${16 ** i}`).join(' + ');
  return `${sum} FROM ${places.map((name) => `(${digits}) AS ${name}`).join(' CROSS JOIN ')}`;
}
