/**
 * Keys that are reserved by a lock of the transaction that does their work (`reserve: 'in-transaction'`). A lock on the
 * record's id is the claim; another on id and fingerprint tells a duplicate from another request under the same key,
 * while nothing of either is visible; a third on id and label tells whether the two can be compared at all.
 *
 * Invariants
 * - Nobody waits: each lock is tried.
 * - An owner takes the lock of the id last, so whoever holds the key holds all three. One who only asks takes
 *   shared locks for one statement, in the same order: an owner that meets them is told that the key is taken, and asks
 *   again.
 * - What is read in the statement that takes the lock was committed before it: a record that is seen is there, one that
 *   is not seen may be. The insert finds it.
 * - The record is inserted by the transaction's last statement: claims of other processes wait for an insert of their
 *   key that is not committed. It waits for nobody who updates a record that is there: what is visible is looked for.
 *
 * Sources: https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS,
 * https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-ADVISORY-LOCKS.
 */

import { RECORD_INPUT, RESERVATION_INPUT, RESERVE_INPUT } from '../input-columns.ts';
import { type Arity, inputRows } from '../parameters.ts';
import type { Statement } from '../client.ts';
import { body, limitColumns, statement } from '../statements.ts';
import { instant, interval, milliseconds, type Tables } from '../tables.ts';
import { NEVER } from '../../../store/machine/index.ts';

/** Separates what is hashed; neither scopes, keys nor digests hold it. */
const APART = 'chr(31)';

/**
 * The locks' numbers: of the id in this table, of the way in which its requests are compared, and of the request. Two
 * may be equal, once in 2^64: then one is told of the other as of a duplicate.
 */
function numbers({ records }: Tables): string {
  const table = `'${records.replaceAll("'", "''")}'::regclass::oid::bigint`;
  const id = `q.scope || ${APART} || q.key`;
  const way = `${id} || ${APART} || q.fingerprint_label`;
  return `hashtextextended(${id}, ${table}) AS id, hashtextextended(${way}, ${table} + 1) AS way,
  hashtextextended(${way} || ${APART} || q.fingerprint_digest, ${table} + 2) AS request`;
}

/** 1 where a record is seen; by the index, whatever the plan. */
function known({ records }: Tables): string {
  return `coalesce((SELECT 1 FROM ${records} r WHERE r.scope = q.scope AND r.key = q.key LIMIT 1), 0)`;
}

/**
 * Sets the limits of a transaction, as `limitStatement` does with the time that comes last, and reserves its key. Gives
 * what that gives, and before the last column: whether the key was free, whether a record is known. `isLarge`: the
 * table is known to be large, and is not looked at.
 *
 * At SERIALIZABLE every key is "known", which means that it is claimed: what is read of the table there conflicts with
 * the inserts of other keys. Subqueries with volatile functions are not flattened, so each lock is tried once.
 */
export function reserveStatement(tables: Tables, isLarge: boolean): Statement {
  const { limits, large } = limitColumns(tables, `$${RESERVE_INPUT.length + 1}`);
  return statement(
    isLarge ? 'reserve' : 'reserve_first',
    `SELECT pg_backend_pid() AS pid, ${limits}, q.free::int AS free,
  CASE current_setting('transaction_isolation') WHEN 'serializable' THEN 1 ELSE ${known(tables)} END AS known,
  ${isLarge ? '1 AS large' : large}
FROM (SELECT q.*, CASE WHEN q.told THEN pg_try_advisory_xact_lock(q.id) ELSE false END AS free
  FROM (SELECT q.*, CASE WHEN q.mine THEN pg_try_advisory_xact_lock_shared(q.way) ELSE false END AS told
    FROM (SELECT q.*, pg_try_advisory_xact_lock(q.request) AS mine
      FROM (SELECT q.*, ${numbers(tables)} FROM ${inputRows(RESERVE_INPUT, 'one')}) q OFFSET 0) q OFFSET 0) q OFFSET 0) q`,
  );
}

/** Whether the lock of this number is held now, by anybody. */
function isHeld(number: string): string {
  return `EXISTS (SELECT FROM pg_locks k WHERE k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted
  AND k.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
  AND k.classid::bigint = (${number} >> 32) & 4294967295 AND k.objid::bigint = ${number} & 4294967295)`;
}

/**
 * Who has each key: the place of who asks; whether one of an equal request has it, or one that is compared in another
 * way and may be equal; whether nobody has; whether a record is known.
 */
export function reservationsStatement(tables: Tables, arity: Arity): Statement {
  return statement(
    'reservations',
    `SELECT q.place, (CASE WHEN NOT q.nobodys THEN 1 WHEN q.free THEN 0 WHEN ${isHeld('q.way')} THEN 0 ELSE 1 END) AS same,
  q.free::int AS free, ${known(tables)} AS known
FROM (SELECT q.*, CASE WHEN q.nobodys THEN pg_try_advisory_xact_lock_shared(q.id) ELSE false END AS free
  FROM (SELECT q.*, pg_try_advisory_xact_lock_shared(q.request) AS nobodys
    FROM (SELECT q.*, ${numbers(tables)} FROM ${inputRows(RESERVATION_INPUT, arity)}) q OFFSET 0) q OFFSET 0) q`,
  );
}

/**
 * Inserts the record of a reserved key, ended or handed over. Gives its expiry; nothing where a record stands. In a
 * transaction whose snapshot is older than that record it fails with 40001.
 */
export function recordStatement(tables: Tables): Statement {
  const { records, clockOpen } = tables;
  // As a claim says it while it is open, and as its end says it.
  const replayMs = "CASE q.state WHEN 'pending' THEN 0 ELSE q.replay_min_ms END";
  const expiresAt = `t.later + ${interval(`(greatest(q.retention_ms, ${replayMs}) + q.extend_ms)`)}`;
  return statement(
    'record',
    `WITH ${clockOpen}
INSERT INTO ${records} AS r (scope, key, operation, state, attempt, claim_id, locked_until, claim_ttl_ms, renewals,
  when_claim_ends, fingerprint_label, fingerprint_digest, format_version, created_at, expires_at, replay_min_ms,
  attempt_max, tombstone_ms, watched, reap_after, proof, reason, response_status, response_headers, response_trailers,
  response_body, inquiries, finished_at)
SELECT q.scope, q.key, q.operation, q.state, q.attempt, q.claim_id,
  CASE q.state WHEN 'pending' THEN ${instant(String(NEVER))} ELSE t.now END, q.claim_ttl_ms, 0, q.when_claim_ends,
  q.fingerprint_label, q.fingerprint_digest, q.format_version, t.now, ${expiresAt}, q.replay_min_ms, q.attempt_max,
  q.tombstone_ms, false, ${expiresAt} + ${interval('q.tombstone_ms')}, q.proof, q.reason,
  q.response_status, q.response_headers, q.response_trailers, ${body(RECORD_INPUT)}, 0,
  CASE WHEN q.state <> 'pending' THEN t.now END
FROM t, ${inputRows(RECORD_INPUT, 'one')}
LEFT JOIN LATERAL (SELECT true AS known FROM ${records} e WHERE e.scope = q.scope AND e.key = q.key LIMIT 1) e ON true
WHERE e.known IS NULL
ON CONFLICT (scope, key) DO NOTHING
RETURNING ${milliseconds('r.expires_at')} AS expires_ms`,
  );
}
