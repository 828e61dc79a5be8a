/**
 * All tables. Ids are VARBINARY, so that no collation folds case or drops trailing blanks (F35); two of 1,024 bytes fit InnoDB's index of
 * 3,072. Rows are kept in the order of `id`, which grows: kept in the order of random keys, each insert would go to a page of its own.
 *
 * One narrow index finds all that is due, because `due_at` means what the state needs: the end of a claim or deadline, since when
 * nobody knows, or when it may be deleted. Times are milliseconds since 1970 (F45). No CHECK on states: newer code may write states this
 * schema's code does not know. The body stands last.
 */

import type { Migration } from './index.ts';

const TEXT = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';
const WORD = 'CHARACTER SET ascii COLLATE ascii_bin';
const ENGINE = 'ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';

export const tables: Migration = {
  number: 1,
  name: 'tables',
  minReader: 1,
  statements: ({ records, audit, counters }) => [
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
  tombstone_ms BIGINT NOT NULL,
  recovery_point TEXT ${TEXT},
  steps LONGTEXT ${TEXT},
  intent_at BIGINT,
  input LONGBLOB,
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
    `CREATE TABLE IF NOT EXISTS ${counters} (
  scope VARBINARY(1024) NOT NULL,
  shard INT NOT NULL,
  count BIGINT NOT NULL,
  PRIMARY KEY (scope, shard)
) ${ENGINE}`,
  ],
};
