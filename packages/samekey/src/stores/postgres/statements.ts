/**
 * The SQL of claims, renewals, finishes and hand-made writes, each for one row and for many, and nothing else.
 *
 * How each keeps its promises:
 * - The lock is taken in a LATERAL subquery per row, FOR NO KEY UPDATE SKIP LOCKED: what somebody else holds is left
 *   out, never waited for. The fence stands in that subquery, so after a wait-free lock PostgreSQL checks it again on
 *   the newest version of the row; the update then goes by ctid and id. A row whose newer version this statement's
 *   snapshot cannot see is locked, but not updated: it comes back as untouched, and the caller looks again.
 * - LATERAL with FOR UPDATE or LIMIT cannot be flattened into a join, so a plan made on an empty table cannot read the
 *   whole table once per flush; on our own connections sequential scans are off besides (see `link.ts`), so each lookup
 *   goes by the unique index from the first request on.
 * - A claim inserts only keys that no visible row has: ON CONFLICT alone would wait for a transaction that updates the
 *   row. What is left to wait for is an insert of the same key that has not committed yet, bounded by lock_timeout.
 * Sources: https://www.postgresql.org/docs/current/transaction-iso.html#XACT-READ-COMMITTED, /sql-select.html (locking
 * clause), /sql-insert.html (ON CONFLICT), src/backend/executor/execIndexing.c.
 */

import { CLAIM_ENDED, EXHAUSTED, NEVER } from '../../store/machine/index.ts';
import { PHASES_CHANGED } from '../../core/record.ts';
import { AUDIT_COLUMNS } from '../sql/audit-row.ts';
import { isLeftToCodeSql } from '../sql/left-to-code.ts';
import {
  ACT_INPUT,
  CHECKPOINT_INPUT,
  CLAIM_INPUT,
  CLAIM_WITH_INPUT,
  FIND_INPUT,
  FINISH_INPUT,
  HAND_OVER_INPUT,
  REFERRED_CHECKPOINT_INPUT,
  RENEW_INPUT,
  SEEN_INPUT,
  WRITE_INPUT,
} from './input-columns.ts';
import { type Arity, type InputColumn, inputRows } from './parameters.ts';
import type { Statement, StatementTime } from './client.ts';
import { referring, unreferring } from './references/references-parts.ts';
import { instant, interval, milliseconds, OPEN_SETTING, seenColumns, type Tables } from './tables.ts';

/**
 * Which rows a finish may write: `decideFinish`, as a condition. An equal state is a repeat unless others decided it.
 * Who does not know changes nothing where somebody found out.
 */
export const FINISH_FENCE: string =
  'r.claim_id = q.claim_id AND r.attempt = q.attempt AND ' +
  "CASE WHEN q.handed_over = 1 THEN r.state = 'pending' AND r.attempt > 0 ELSE r.state IN ('in_progress', 'unknown', 'retryable') END " +
  `AND (r.state <> q.state OR r.proof = 'settled' OR r.reason IN ('${EXHAUSTED}', '${CLAIM_ENDED}', '${PHASES_CHANGED}')) ` +
  "AND NOT (q.state = 'unknown' AND r.state = 'retryable' AND r.proof = 'settled' AND r.steps IS NOT NULL AND r.intent_at IS NULL)";

/** Which rows a renewal may write: `decideRenew`, as a condition. */
const RENEW_FENCE =
  'r.claim_id = q.claim_id AND r.attempt = q.attempt AND ' +
  `(r.state = 'in_progress' OR (r.state = 'unknown' AND r.reason = '${CLAIM_ENDED}'))`;

/** `decideCheckpoint`: what was written since is not written over. */
const CHECKPOINT_FENCE = `${RENEW_FENCE} AND (q.upon IS NULL OR r.renewals = q.upon)`;

/** What a claim inserts beyond the columns every claim has. */
interface Entry {
  readonly input: readonly InputColumn[];
  readonly state: string;
  readonly attempt: string;
  readonly lockedMs: string;
  readonly watched: string;
  readonly bytes: string;
}

const RUNS: Entry = {
  input: CLAIM_INPUT,
  state: "'in_progress'",
  attempt: '1',
  lockedMs: 'q.claim_ttl_ms',
  watched: 'false',
  bytes: 'NULL',
};

/** What is only noted is watched from the first: nothing else would find it. */
const BRINGS_INPUT: Entry = {
  input: CLAIM_WITH_INPUT,
  state: 'q.state',
  attempt: 'q.attempt',
  lockedMs: 'q.locked_ms',
  watched: "q.state = 'pending'",
  bytes: bytes(CLAIM_WITH_INPUT, 'input'),
};

/** Inserts the keys that are new. Gives id, creation and expiry of each row inserted. */
export function claimStatement({ records, clock }: Tables, arity: Arity, withInput = false): Statement {
  const entry = withInput ? BRINGS_INPUT : RUNS;
  return statement(
    withInput ? 'claim_input' : 'claim',
    `WITH ${clock}
INSERT INTO ${records} AS r (scope, key, operation, state, attempt, claim_id, locked_until, claim_ttl_ms, renewals,
  when_claim_ends, fingerprint_label, fingerprint_digest, format_version, created_at, expires_at, replay_min_ms,
  attempt_max, tombstone_ms, watched, reap_after, input)
SELECT q.scope, q.key, q.operation, ${entry.state}, ${entry.attempt}, q.claim_id, t.now + ${interval(entry.lockedMs)},
  q.claim_ttl_ms, 0, q.when_claim_ends, q.fingerprint_label, q.fingerprint_digest, q.format_version, t.now,
  t.later + ${interval('q.retention_ms')}, q.replay_min_ms, q.attempt_max, q.tombstone_ms, ${entry.watched},
  t.later + ${interval('(q.retention_ms + q.tombstone_ms)')}, ${entry.bytes}
FROM t, ${inputRows(entry.input, arity)}
LEFT JOIN LATERAL (SELECT true AS known FROM ${records} e WHERE e.scope = q.scope AND e.key = q.key LIMIT 1) e ON true
WHERE e.known IS NULL
ON CONFLICT (scope, key) DO NOTHING
RETURNING r.scope, r.key, ${milliseconds('r.created_at')}, ${milliseconds('r.expires_at')}`,
  );
}

/** Notes what attempts have done so far, and renews their claims. Gives the id of each row written. */
export function checkpointStatement(tables: Tables, arity: Arity): Statement {
  return statement(
    'checkpoint',
    `WITH ${tables.clock}, ${locked(tables, CHECKPOINT_INPUT, arity, CHECKPOINT_FENCE)}
${updateCheckpoint(tables)} FROM locked AS q WHERE ${placed('q')}
RETURNING r.scope, r.key`,
  );
}

/** The same, with the references that they bring. */
export function referredCheckpointStatement(tables: Tables, arity: Arity): Statement {
  return statement(
    'checkpoint_referred',
    `WITH ${tables.clock}, ${locked(tables, REFERRED_CHECKPOINT_INPUT, arity, CHECKPOINT_FENCE)},
noted AS (${updateCheckpoint(tables)} FROM locked AS q WHERE ${placed('q')}
RETURNING r.scope, r.key, r.created_at, r.attempt, q.reference, q.effect),
${referring(tables, 'noted')}
SELECT scope, key FROM noted`,
  );
}

/** The same for one row inside a user's transaction. */
export function checkpointWithinStatement(tables: Tables, isLimited = false): Statement {
  return statement(
    isLimited ? 'checkpoint_within_limited' : 'checkpoint_within',
    `WITH ${clockOf(tables, isLimited)}, q AS MATERIALIZED (SELECT q.*, t.now FROM t, ${inputRows(CHECKPOINT_INPUT, 'one')})
${updateCheckpoint(tables)} FROM q WHERE r.scope = q.scope AND r.key = q.key AND ${CHECKPOINT_FENCE}
RETURNING r.scope, r.key`,
  );
}

function updateCheckpoint({ records }: Tables): string {
  return `UPDATE ${records} AS r SET state = 'in_progress', claim_ttl_ms = q.claim_ttl_ms,
  locked_until = q.now + ${interval('q.claim_ttl_ms')}, renewals = r.renewals + 1, reason = NULL, reconcile_after = NULL, inquiries = 0,
  recovery_point = q.recovery_point, steps = q.steps, intent_at = CASE q.intent_open WHEN 1 THEN q.now WHEN 2 THEN r.intent_at END`;
}

/** Gives an attempt to the worker of a message, inside a user's transaction. Gives the id of the row written. */
export function handOverStatement(tables: Tables, isLimited = false): Statement {
  return statement(
    isLimited ? 'hand_over_limited' : 'hand_over',
    `WITH ${clockOf(tables, isLimited)}, q AS MATERIALIZED (SELECT q.*, t.now FROM t, ${inputRows(HAND_OVER_INPUT, 'one')})
UPDATE ${tables.records} AS r SET state = 'pending', locked_until = ${instant(String(NEVER))}
FROM q WHERE r.scope = q.scope AND r.key = q.key AND r.claim_id = q.claim_id AND r.attempt = q.attempt
  AND r.state = 'in_progress'
RETURNING r.scope, r.key`,
  );
}

/** Renews claims, or takes them back from `unknown`. Gives the id of each row renewed. */
export function renewStatement(tables: Tables, arity: Arity): Statement {
  return statement(
    'renew',
    `WITH ${tables.clock}, ${locked(tables, RENEW_INPUT, arity, RENEW_FENCE)}
UPDATE ${tables.records} AS r SET state = 'in_progress', claim_ttl_ms = q.claim_ttl_ms,
  locked_until = q.now + ${interval('q.claim_ttl_ms')}, renewals = r.renewals + 1, reason = NULL, reconcile_after = NULL, inquiries = 0,
  watched = true
FROM locked AS q WHERE ${placed('q')}
RETURNING r.scope, r.key`,
  );
}

/** Ends attempts. Gives id and expiry of each row ended. */
export function finishStatement(tables: Tables, arity: Arity): Statement {
  return statement(
    'finish',
    `WITH ${tables.clock}, ${locked(tables, FINISH_INPUT, arity, FINISH_FENCE)}
${updateFinished(tables)} FROM locked AS q WHERE ${placed('q')}
RETURNING r.scope, r.key, ${milliseconds('r.expires_at')}`,
  );
}

/** The same for one row inside a user's transaction: it waits for the row as the transaction's other writes do. */
export function finishWithinStatement(tables: Tables, isLimited = false): Statement {
  return statement(
    isLimited ? 'finish_within_limited' : 'finish_within',
    `WITH ${clockOf(tables, isLimited)}, q AS MATERIALIZED (SELECT q.*, t.now, t.later FROM t, ${inputRows(FINISH_INPUT, 'one')})
${updateFinished(tables)} FROM q WHERE r.scope = q.scope AND r.key = q.key AND ${FINISH_FENCE}
RETURNING r.scope, r.key, ${milliseconds('r.expires_at')} AS expires_ms`,
  );
}

/**
 * A plan that is kept is one by the index, if the table has so many bytes when it is made: on fewer pages PostgreSQL
 * may read all of them, and keeps on doing so while they become millions.
 */
const LARGE_BYTES = 16 * 8_192;

/** A setting in milliseconds: shown with a unit (`30s`), which is what intervals are written in; 0 is "no limit". */
function ownLimit(name: string): string {
  return `nullif((extract(epoch FROM current_setting('${name}')::interval) * 1000)::bigint, 0)`;
}

/** Sets it to so many milliseconds, or leaves it where it is stricter. */
function leastLimit(name: string, ms: string): string {
  const least = `least(${ms}::bigint, coalesce(${ownLimit(name)}, ${ms}::bigint))`;
  // Mostly there is none, and none is quickly read.
  const value = `CASE current_setting('${name}') WHEN '0' THEN ${ms}::bigint ELSE ${least} END`;
  return `set_config('${name}', (${value})::text, true)`;
}

/**
 * Columns that bound a user's transaction, until its end: `ms` milliseconds, or what it had before if that is less. And
 * a mark that ends with it. `large`: whether the table has {@link LARGE_BYTES}: that look waits for whoever has locked
 * the table, within the limits.
 */
export function limitColumns(
  { records }: Tables,
  ms: string,
): { readonly limits: string; readonly large: string } {
  const limits = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
  return {
    // One column: each is a name that a driver makes a member of, for every transaction.
    limits: `concat(${limits.map((name) => leastLimit(name, ms)).join(', ')}, set_config('${OPEN_SETTING}', '1', true)) AS limits`,
    large: `(pg_relation_size('${records}'::regclass) >= ${LARGE_BYTES})::int AS large`,
  };
}

/** Sets the limits of a user's transaction to $1. Gives the process that answers and, last, if the table is large. */
export function limitStatement(tables: Tables): Statement {
  const { limits, large } = limitColumns(tables, '$1');
  return statement('limit', `SELECT pg_backend_pid() AS pid, ${limits}, ${large}`);
}

/** Whether the transaction that was marked is still open: `1`. */
export function isOpenStatement(): Statement {
  return statement('is_open', `SELECT current_setting('${OPEN_SETTING}', true) AS open`);
}

/** Inside a user's transaction; `isLimited`: one that was marked. */
function clockOf({ clockWithin, clockOpen }: Tables, isLimited: boolean): string {
  return isLimited ? clockOpen : clockWithin;
}

/** The end of an attempt, in its record `r`, from the row `q` of the input. */
export function updateFinished({ records }: Tables, input: readonly InputColumn[] = FINISH_INPUT): string {
  const expiresAt = `greatest(r.expires_at, q.later + ${interval('r.replay_min_ms')}) + ${interval('q.extend_ms')}`;
  return `UPDATE ${records} AS r SET state = q.state, proof = q.proof, reason = q.reason,
  locked_until = CASE WHEN r.state IN ('in_progress', 'pending') THEN q.now ELSE greatest(r.locked_until, q.now) END,
  response_status = q.response_status, response_headers = q.response_headers, response_trailers = q.response_trailers,
  response_body = ${body(input)},
  intent_at = CASE WHEN q.state NOT IN ('completed', 'failed') THEN r.intent_at END,
  watched = r.watched OR ((q.state = 'retryable' OR ${isLeftToCodeSql('q.')}) AND r.input IS NOT NULL),
  fingerprint_label = CASE WHEN q.unbind = 1 THEN NULL ELSE r.fingerprint_label END,
  fingerprint_digest = CASE WHEN q.unbind = 1 THEN NULL ELSE r.fingerprint_digest END,
  reconcile_after = CASE WHEN q.state = 'unknown' THEN q.now + ${interval('q.reconcile_after_ms')} END,
  inquiries = 0,
  finished_at = CASE WHEN q.state IN ('completed', 'failed') THEN q.now END,
  expires_at = ${expiresAt}, reap_after = least(r.reap_after, ${expiresAt} + ${interval('r.tombstone_ms')})`;
}

/** The records of ids; ids without one are left out. Gives what `seenOf` reads. */
export function findStatement(tables: Tables, arity: Arity): Statement {
  const { records, clockWithin } = tables;
  return statement(
    'find',
    `WITH ${clockWithin}
SELECT ${seenColumns(tables)}
FROM t, ${inputRows(FIND_INPUT, arity)}
CROSS JOIN LATERAL (SELECT r.*, r.xmin FROM ${records} r
  WHERE r.scope = q.scope AND r.key = q.key LIMIT 1) r`,
  );
}

/**
 * Writes whole records over what was seen, within {@link DECISION_TIME_MAX_MS}; `audited`: each with its row in the
 * audit. Gives the id of each row written.
 */
export function writeStatement(tables: Tables, arity: Arity, audited: boolean): Statement {
  const input = audited ? [...WRITE_INPUT, ...ACT_INPUT] : WRITE_INPUT;
  const { before, after } = acting(tables, audited);
  return statement(
    audited ? 'write_audited' : 'write',
    `WITH ${tables.clock}, ${locked(tables, input, arity, seen(input.length + 2))}${before}
UPDATE ${tables.records} AS r SET operation = q.operation, state = q.state, attempt = q.attempt, claim_id = q.claim_id,
  locked_until = ${instant('q.locked_until')}, claim_ttl_ms = q.claim_ttl_ms, renewals = q.renewals,
  when_claim_ends = q.when_claim_ends, fingerprint_label = q.fingerprint_label,
  fingerprint_digest = q.fingerprint_digest, proof = q.proof, reason = q.reason, response_status = q.response_status,
  response_headers = q.response_headers, response_trailers = q.response_trailers, response_body = ${body(input)},
  format_version = q.format_version, seal_key_id = q.seal_key_id, reconcile_after = ${instant('q.reconcile_after')}, inquiries = q.inquiries,
  created_at = ${instant('q.created_at')}, finished_at = ${instant('q.finished_at')},
  expires_at = ${instant('q.expires_at')}, replay_min_ms = q.replay_min_ms, attempt_max = q.attempt_max, tombstone_ms = q.tombstone_ms,
  recovery_point = q.recovery_point, steps = q.steps, intent_at = ${instant('q.intent_at')},
  input = ${bytes(input, 'input')},
  watched = (q.state = 'in_progress' OR (q.state IN ('pending', 'retryable') OR ${isLeftToCodeSql('q.')}) AND q.input_from IS NOT NULL), reap_after = ${instant('(q.expires_at + q.tombstone_ms)')}
FROM locked AS q WHERE ${placed('q')}
${after}`,
  );
}

/** Deletes what was seen, as {@link writeStatement} writes, with its references. Gives the id of each row deleted. */
export function deleteStatement(tables: Tables, arity: Arity, audited: boolean): Statement {
  const input = audited ? [...SEEN_INPUT, ...ACT_INPUT] : SEEN_INPUT;
  const { before, after } = acting(tables, audited, unreferring(tables, 'acted'));
  return statement(
    audited ? 'delete_audited' : 'delete',
    `WITH ${tables.clock}, ${locked(tables, input, arity, seen(input.length + 1))}${before}
DELETE FROM ${tables.records} AS r USING locked AS q WHERE ${placed('q')}
${after}`,
  );
}

/**
 * What stands around a write of an act by hand, so that its row in the audit is part of the statement; `also`: what
 * goes with it.
 */
function acting(
  { audit }: Tables,
  audited: boolean,
  also?: string,
): { readonly before: string; readonly after: string } {
  const before = ',\nacted AS (';
  const more = also === undefined ? '' : `,\n${also}`;
  if (!audited) {
    if (also === undefined) return { before: '', after: 'RETURNING r.scope, r.key' };
    return { before, after: `RETURNING r.scope, r.key)${more}\nSELECT scope, key FROM acted` };
  }
  const columns = ACT_INPUT.map(({ name }) => name);
  return {
    before,
    after: `RETURNING r.scope, r.key, q.now, ${columns.map((name) => `q.${name}`).join(', ')}),
noted AS (INSERT INTO ${audit} (at, ${AUDIT_COLUMNS.join(', ')})
  SELECT acted.now, acted.scope, acted.key, ${columns.map((name) => `acted.${name}`).join(', ')} FROM acted)${more}
SELECT scope, key FROM acted`,
  };
}

/**
 * A write decided from what was read is refused when it arrives later than this: its times (a claim's end, an expiry)
 * were computed from the reading. A process frozen in between decides again.
 */
export const DECISION_TIME_MAX_MS = 5_000;

/** Parameter `n`: the time of the reading. */
function seen(n: number): string {
  return (
    `r.xmin = q.seen_version::xid AND r.claim_id = q.seen_claim_id AND r.attempt = q.seen_attempt ` +
    `AND r.state = q.seen_state AND t.later <= ${instant(`$${n}::bigint`)} + ${interval(String(DECISION_TIME_MAX_MS))}`
  );
}

/**
 * Record `r` is the row whose id and place are in `q`. The place says which version; the id says which partition, in
 * each of which the same places occur, and is what a plan leaves the others out by.
 */
export function placed(q: string): string {
  return `r.ctid = ${q}.tid AND r.scope = ${q}.scope AND r.key = ${q}.key`;
}

/** `locked`: the input rows that fit their record and whose record is free, with its place. */
function locked({ records }: Tables, input: readonly InputColumn[], arity: Arity, condition: string): string {
  return `locked AS MATERIALIZED (SELECT q.*, r.tid, t.now, t.later FROM t, ${inputRows(input, arity)}
CROSS JOIN LATERAL (SELECT r.ctid AS tid FROM ${records} r WHERE r.scope = q.scope AND r.key = q.key
  AND ${condition} FOR NO KEY UPDATE SKIP LOCKED) r)`;
}

/** The row's part of all bodies, which are the parameter after the input; null where there is none. */
export function body(input: readonly InputColumn[]): string {
  return bytes(input, 'body');
}

function bytes(input: readonly InputColumn[], what: 'body' | 'input'): string {
  return `substring($${input.length + 1}::bytea FROM q.${what}_from FOR q.${what}_length)`;
}

const TIMES: readonly StatementTime[] = ['bound', 'held'];

/**
 * Named by its text: two stores on one client, or two versions of this code, never share a prepared statement. Times
 * that it names (`$bound`) are parameters after its own.
 */
export function statement(verb: string, text: string): Statement {
  const times = TIMES.filter((name) => text.includes(`$${name}`));
  let last = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, n]) => Number(n)));
  let sql = text;
  for (const name of times) {
    last += 1;
    sql = sql.replaceAll(`$${name}`, `$${last}`);
  }
  let hash = 0x811c9dc5;
  for (let i = 0; i < sql.length; i += 1) hash = Math.imul(hash ^ sql.charCodeAt(i), 0x01000193) >>> 0;
  return Object.freeze({ name: `samekey_${verb}_${hash.toString(36)}`, text: sql, times });
}
