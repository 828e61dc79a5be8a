/**
 * The store's SQL, and nothing else. Writes repeat the fence as it was read (claim, attempt, state) in their own
 * condition, although the write lock is held: a bug above must not be able to write over another attempt.
 */

import { DOUBLED_MAX } from '../../core/record.ts';
import { isLeftToCodeSql } from '../sql/left-to-code.ts';
import { RECORD_COLUMNS } from '../sql/record-row.ts';

const COLUMNS = RECORD_COLUMNS.join(', ');
const FENCE = 'scope = ? AND key = ? AND claim_id = ? AND attempt = ? AND state = ?';

/** Also the WHERE of the partial index `samekey_open`: SQLite uses it only for queries that repeat these words. */
const OPEN = `state NOT IN ('completed', 'failed')`;
/** Also the WHERE of the partial index `samekey_purge`. */
const EXPIRING = `state IN ('completed', 'failed', 'retryable')`;

export const BEGIN = 'BEGIN IMMEDIATE';
export const COMMIT = 'COMMIT';
export const ROLLBACK = 'ROLLBACK';

export const SELECT_RECORD: string = `SELECT ${COLUMNS} FROM samekey_records WHERE scope = ? AND key = ?`;

/** DO NOTHING so that a row which must not be there is counted (0), not thrown as a constraint. */
export const INSERT_RECORD: string =
  `INSERT INTO samekey_records (${COLUMNS}) VALUES (${RECORD_COLUMNS.map(() => '?').join(', ')}) ` +
  'ON CONFLICT DO NOTHING';

/** Values: those of the record without scope and key, then the fence. */
export const UPDATE_RECORD: string = `UPDATE samekey_records SET ${RECORD_COLUMNS.slice(2)
  .map((column) => `${column} = ?`)
  .join(', ')} WHERE ${FENCE}`;

export const DELETE_RECORD: string = `DELETE FROM samekey_records WHERE ${FENCE}`;

export const SELECT_LAST_NOW = `SELECT value FROM samekey_meta WHERE name = 'last_now'`;
export const UPDATE_LAST_NOW = `UPDATE samekey_meta SET value = ? WHERE name = 'last_now' AND value < ?`;

/** Open claims behind a rowid, without their bodies: what a sweep watches. */
export const SELECT_CLAIMS: string =
  'SELECT rowid, scope, key, claim_id, attempt, created_at, renewals, claim_ttl_ms FROM samekey_records ' +
  `WHERE ${OPEN} AND state = 'in_progress' AND rowid > ? ORDER BY rowid LIMIT ?`;

/** Accepted and not begun by the deadline. */
export const SELECT_NEVER_STARTED: string = `SELECT scope, key FROM samekey_records WHERE ${OPEN} AND state = 'pending' AND locked_until <= ? LIMIT ?`;

/** Unknown since before a time; the words of the index `samekey_unknown`. */
export const SELECT_NEVER_KNOWN: string =
  'SELECT scope, key FROM samekey_records ' +
  "WHERE reconcile_after IS NOT NULL AND state = 'unknown' AND locked_until <= ? ORDER BY locked_until LIMIT ?";

/** As `pauseOf`. */
const PAUSE = `CASE WHEN attempt < 2 OR proof = 'settled' THEN 0 ELSE min(?, ? << min(attempt - 2, ${DOUBLED_MAX})) END`;

/**
 * As `isDue`; values: the time twice, the most and the least pause, the time, then names of operations, then three of
 * the place behind which to begin, then the limit.
 */
export function selectDue(operations: number): string {
  const names = Array.from({ length: operations }, () => '?').join(', ');
  return (
    `SELECT ${COLUMNS} FROM samekey_records WHERE ${OPEN} AND input IS NOT NULL AND fingerprint_label IS NOT NULL AND (` +
    `state = 'pending' AND attempt = 0 AND locked_until > ? OR ` +
    `(state = 'retryable' AND (intent_at IS NOT NULL OR expires_at > ?) OR ${isLeftToCodeSql('')}) ` +
    `AND locked_until + ${PAUSE} <= ?` +
    `) AND operation IN (${names}) AND (created_at, scope, key) > (?, ?, ?) ORDER BY created_at, scope, key LIMIT ?`
  );
}

/**
 * Unknown outcomes that are due for a look, the longest due first; values: the time, names of operations, the limit.
 */
export function selectUnknownDue(operations: number | null): string {
  const names =
    operations === null
      ? ''
      : `AND operation IN (${Array.from({ length: operations }, () => '?').join(', ')}) `;
  return (
    `SELECT ${COLUMNS}, lease_ms FROM samekey_records ` +
    `WHERE reconcile_after <= ? AND state = 'unknown' ${names}ORDER BY reconcile_after LIMIT ?`
  );
}

/** Who asks about it has it for itself so long; null when the last one has ended its look. */
export const UPDATE_LEASE: string = `UPDATE samekey_records SET lease_ms = ? WHERE ${FENCE}`;

/** An intent without a result keeps its record, whatever its age. */
const PURGEABLE = `${EXPIRING} AND NOT (state = 'retryable' AND intent_at IS NOT NULL) AND expires_at + tombstone_ms <= ?`;

/** The index is named: SQLite 3.53 would rather read all of a table of a few hundred rows, and keep that plan. */
export const SELECT_PURGEABLE: string = `SELECT rowid, scope FROM samekey_records INDEXED BY samekey_purge WHERE ${PURGEABLE} LIMIT ?`;

/** Rows found under the same write lock; the value is a JSON array of rowids. */
export const DELETE_ROWS = 'DELETE FROM samekey_records WHERE rowid IN (SELECT value FROM json_each(?))';

/** Erased records, as `isErased` knows them; nothing else is final under such a claimId. */
const NOT_ERASED = `substr(claim_id, 1, 7) <> 'erased:'`;

/** As `decideErase`: records whose scope lies from the first value up to the second, at most so many. */
export const SELECT_ERASABLE: string =
  `SELECT scope, key FROM samekey_records WHERE scope >= ? AND scope < ? AND ${NOT_ERASED} AND ` +
  `(state IN ('completed', 'failed') OR state = 'retryable' AND intent_at IS NULL OR state = 'pending' AND attempt = 0) LIMIT ?`;

/** Records in the range that still hold something. */
export const COUNT_NOT_ERASED: string = `SELECT count(*) AS n FROM samekey_records WHERE scope >= ? AND scope < ? AND ${NOT_ERASED}`;

export const DELETE_DEAD_OF: string = `DELETE FROM samekey_messages WHERE state = 'dead' AND scope = ? AND key = ?`;

/** Two walks over narrow indexes instead of one over every stored body. */
export const COUNT_OPEN: string = `SELECT state, count(*) AS n FROM samekey_records WHERE ${OPEN} GROUP BY state`;
export const COUNT_EXPIRING: string = `SELECT state, count(*) AS n FROM samekey_records WHERE ${EXPIRING} GROUP BY state`;

/**
 * Newest first by rowid, which grows with created_at: the store's clock never goes back, and a key that starts a new
 * life gets a new row.
 */
export function selectList(filters: {
  readonly states: number;
  readonly openOnly: boolean;
  readonly operation: boolean;
  readonly scope: boolean;
  readonly caller: boolean;
  readonly key: boolean;
  readonly createdBefore: boolean;
}): string {
  const conditions = [
    ...(filters.openOnly ? [OPEN] : []),
    ...(filters.states > 0
      ? [`state IN (${Array.from({ length: filters.states }, () => '?').join(', ')})`]
      : []),
    ...(filters.operation ? ['operation = ?'] : []),
    ...(filters.scope ? ['scope = ?'] : []),
    ...(filters.caller ? ['(scope = ? OR (scope >= ? AND scope < ?))'] : []),
    ...(filters.key ? ['key = ?'] : []),
    ...(filters.createdBefore ? ['created_at < ?'] : []),
  ];
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')} `;
  return `SELECT ${COLUMNS} FROM samekey_records ${where}ORDER BY rowid DESC LIMIT ?`;
}
