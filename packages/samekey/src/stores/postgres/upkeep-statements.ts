/** The SQL of sweeping and reaping, and of the operator's reads. Locked rows are left for the next round. */

import { DOUBLED_MAX, STATES } from '../../core/record.ts';
import { afterCaller } from '../../core/scope.ts';
import type { ListRequest } from '../../store/store.ts';
import { isLeftToCodeSql } from '../sql/left-to-code.ts';
import type { SqlValue, Statement } from './client.ts';
import { unreferring } from './references/references-parts.ts';
import { placed, statement } from './statements.ts';
import {
  instant,
  interval,
  IS_UNKNOWN,
  MAY_BE_DUE,
  milliseconds,
  seenColumns,
  type Tables,
} from './tables.ts';

/** Watched claims that are over, as find gives them; at most $1. */
export function watchedStatement(tables: Tables): Statement {
  const { records, clock } = tables;
  return statement(
    'watched',
    `WITH ${clock}
SELECT ${seenColumns(tables)} FROM t, ${records} r
WHERE r.watched AND r.state IN ('in_progress', 'pending') AND r.locked_until <= t.now LIMIT $1::int`,
  );
}

/**
 * Unknown for $1 milliseconds and longer, as find gives them; at most $2. They were created before that, and the index
 * knows.
 */
export function neverKnownStatement(tables: Tables): Statement {
  const { records, clock } = tables;
  const before = `t.now - ${interval('$1::bigint')}`;
  return statement(
    'never_known',
    `WITH ${clock}
SELECT ${seenColumns(tables)} FROM t, ${records} r
WHERE r.${IS_UNKNOWN} AND r.created_at <= ${before} AND r.state = 'unknown' AND r.locked_until <= ${before}
LIMIT $2::int`,
  );
}

/** Takes the watch off records that are no longer in progress. */
export function unwatchStatement({ records, clock }: Tables): Statement {
  return statement(
    'unwatch',
    `WITH ${clock}, idle AS MATERIALIZED (SELECT r.ctid AS tid, r.scope, r.key FROM t, ${records} r
  WHERE r.watched AND r.state <> 'in_progress'
    AND NOT ((r.state IN ('pending', 'retryable') OR ${isLeftToCodeSql('r.')}) AND r.input IS NOT NULL)
  LIMIT 1000 FOR NO KEY UPDATE OF r SKIP LOCKED)
UPDATE ${records} r SET watched = false FROM idle WHERE ${placed('idle')}`,
  );
}

/**
 * A stretch of the index on created_at, from $1 on, at least $2 rows if there are as many (and all that were created in
 * the same millisecond as the last), with the claims in it that are over and not watched, at most $3. Always at least
 * one row: the time, how many rows, when the last one was created, the oldest open claim, the oldest living one; then
 * what find gives, or nulls.
 */
export function stretchStatement(tables: Tables): Statement {
  const { records, clock } = tables;
  return statement(
    'stretch',
    `WITH ${clock}, s AS MATERIALIZED (SELECT r.ctid AS tid, r.scope, r.key, r.created_at, r.locked_until,
  r.state = 'in_progress' AND NOT r.watched AS open FROM ${records} r
  WHERE r.created_at >= ${instant('$1::bigint')} ORDER BY r.created_at FETCH FIRST ($2::int) ROWS WITH TIES),
found AS (SELECT count(*) AS n, max(s.created_at) AS last_at, min(s.created_at) FILTER (WHERE s.open) AS open_at,
  min(s.created_at) FILTER (WHERE s.open AND s.locked_until > t.now) AS alive_at FROM s, t)
SELECT ${milliseconds('t.now')}, found.n, ${milliseconds('found.last_at')}, ${milliseconds('found.open_at')},
  ${milliseconds('found.alive_at')}, ${seenColumns(tables)}
FROM t CROSS JOIN found LEFT JOIN (SELECT r.* FROM
  (SELECT s.* FROM s, t WHERE s.open AND s.locked_until <= t.now LIMIT $3::int) AS ended
  CROSS JOIN LATERAL (SELECT r.*, r.xmin FROM ${records} r WHERE ${placed('ended')} LIMIT 1) r) r ON true`,
  );
}

/** As `pauseOf`, from $3 to $4. */
const PAUSE = `CASE WHEN r.attempt < 2 OR r.proof = 'settled' THEN interval '0'
    ELSE make_interval(secs => least($4::float8, $3::float8 * power(2, least(r.attempt - 2, ${DOUBLED_MAX}))) / 1000) END`;

/**
 * As `isDue`: what a worker of the operations named in $1 may push on, at most $2, the oldest first; behind $5, $6, $7
 * unless null.
 */
export function dueStatement(tables: Tables): Statement {
  const { records, clock } = tables;
  return statement(
    'due',
    `WITH ${clock}
SELECT ${seenColumns(tables)} FROM t, ${records} r
WHERE r.watched AND r.input IS NOT NULL AND r.fingerprint_label IS NOT NULL AND r.operation = ANY ($1::text[]) AND (
  r.state = 'pending' AND r.attempt = 0 AND r.locked_until > t.now OR
  (r.state = 'retryable' AND (r.intent_at IS NOT NULL OR r.expires_at > t.now) OR ${isLeftToCodeSql('r.')})
  AND r.locked_until + ${PAUSE} <= t.now)
  AND ($5::bigint IS NULL OR (r.created_at, r.scope, r.key) > (${instant('$5::bigint')}, $6::text, $7::text))
ORDER BY r.created_at, r.scope, r.key LIMIT $2::int`,
  );
}

/**
 * Takes unknown outcomes that are due, of the operations named in $1 (null: of all), for $2 milliseconds, at most $3.
 * What somebody else is taking right now is left out.
 */
export function takeUnknownStatement(tables: Tables): Statement {
  const { records, clock } = tables;
  return statement(
    'take_unknown',
    `WITH ${clock}, due AS MATERIALIZED (SELECT r.ctid AS tid, r.scope, r.key FROM ${records} r
  WHERE r.${MAY_BE_DUE} AND r.reconcile_after <= (SELECT now FROM t) AND r.state = 'unknown'
    AND ($1::text[] IS NULL OR r.operation = ANY ($1::text[]))
  ORDER BY r.reconcile_after LIMIT $3::int FOR NO KEY UPDATE SKIP LOCKED)
UPDATE ${records} r SET reconcile_after = t.now + ${interval('$2::bigint')}, inquiries = r.inquiries + 1
FROM due, t WHERE ${placed('due')}
RETURNING ${seenColumns(tables)}`,
  );
}

export function readMarkStatement({ meta }: Tables): Statement {
  return statement('mark', `SELECT value FROM ${meta} WHERE name = 'swept_to'`);
}

/** The last writer wins: a mark too low costs a reading, and a mark too high cannot be written. */
export function writeMarkStatement({ meta }: Tables): Statement {
  return statement('set_mark', `UPDATE ${meta} SET value = $1::bigint WHERE name = 'swept_to'`);
}

/**
 * Looks at $1 records that may be purgeable, deletes those that are; the others get their true time, or a later look.
 * One row for each that was deleted, with how many were looked at and its scope; one with a null when none was.
 */
export function reapStatement(tables: Tables): Statement {
  const { records, clock } = tables;
  const purgeAt = `r.expires_at + ${interval('r.tombstone_ms')}`;
  const expires = `(r.state IN ('completed', 'failed') OR r.state = 'retryable' AND r.intent_at IS NULL)`;
  return statement(
    'reap',
    `WITH ${clock}, due AS MATERIALIZED (SELECT r.ctid AS tid, r.scope, r.key, ${expires} AS expires, ${purgeAt} AS purge_at
  FROM ${records} r WHERE r.reap_after <= (SELECT now FROM t) ORDER BY r.reap_after LIMIT $1::int
  FOR UPDATE SKIP LOCKED),
gone AS (DELETE FROM ${records} r USING due, t WHERE ${placed('due')} AND due.expires AND due.purge_at <= t.now
  RETURNING r.scope, r.key),
${unreferring(tables, 'gone')},
later AS (UPDATE ${records} r SET reap_after = CASE WHEN due.expires THEN due.purge_at
    ELSE t.now + interval '1 hour' END
  FROM due, t WHERE ${placed('due')} AND NOT (due.expires AND due.purge_at <= t.now) RETURNING 1)
SELECT found.n, gone.scope FROM (SELECT count(*) AS n FROM due) AS found LEFT JOIN gone ON true`,
  );
}

/** Callers with no more records have them sorted; those of others are met soon enough on the way back in time. */
const SORTED_MAX = 10_000;

/**
 * Newest first, by the index on created_at. Of one caller by the unique index, unless it has too many for that: on the
 * way back from the newest a caller who has left comes last.
 */
export function listStatement(
  { records, columns }: Tables,
  request: ListRequest,
  limit: number,
): { readonly statement: Statement; readonly values: readonly SqlValue[] } {
  const values: SqlValue[] = [];
  const parameter = (value: string): string => `$${values.push(value)}`;
  const conditions = ['true'];
  if (request.states !== undefined) {
    const states = STATES.filter((state) => request.states?.includes(state));
    if (states.length === 1 && states[0] === 'unknown') conditions.push(`r.${IS_UNKNOWN}`);
    conditions.push(`r.state = ANY (${parameter(`{${states.join(',')}}`)}::text[])`);
  }
  if (request.operation !== undefined) conditions.push(`r.operation = ${parameter(request.operation)}`);
  const ranges: string[] = [];
  if (request.scope !== undefined) ranges.push(`r.scope = ${parameter(request.scope)}`);
  conditions.push(...ranges);
  if (request.caller !== undefined) {
    const [caller, from, to] = [request.caller, `${request.caller}|`, afterCaller(request.caller)].map(
      parameter,
    );
    const his = [`r.scope = ${caller}`, `r.scope >= ${from} AND r.scope < ${to}`];
    conditions.push(`(${his.join(' OR ')})`);
    // A scope is narrower, and is met first.
    if (ranges.length === 0) ranges.push(...his);
  }
  if (request.key !== undefined) conditions.push(`r.key = ${parameter(request.key)}`);
  if (request.createdBefore !== undefined) {
    conditions.push(`r.created_at < ${instant(`${parameter(String(request.createdBefore))}::bigint`)}`);
  }
  const where = `WHERE ${conditions.join(' AND ')}`;
  const newest = `ORDER BY r.created_at DESC LIMIT ${parameter(String(limit))}::int`;
  const wanted = (from: string): string =>
    `SELECT 0 AS now_ms, 0 AS later_ms, r.xmin::text AS version, ${columns} FROM ${from} ${newest}`;
  if (ranges.length === 0 || request.key !== undefined)
    return { statement: statement('list', wanted(`${records} r ${where}`)), values };
  const own = ranges.map(
    (range) =>
      `(SELECT r.scope, r.key FROM ${records} r WHERE ${range} ORDER BY r.scope, r.key LIMIT ${SORTED_MAX + 1})`,
  );
  return {
    statement: statement(
      'list_of',
      `WITH own AS MATERIALIZED (${own.join(' UNION ALL ')}), n AS MATERIALIZED (SELECT count(*) AS n FROM own)
${wanted(`(SELECT r.* FROM own CROSS JOIN LATERAL (SELECT r.*, r.xmin FROM ${records} r WHERE r.scope = own.scope AND r.key = own.key LIMIT 1) r
${where} AND (SELECT n FROM n) <= ${SORTED_MAX}
UNION ALL (SELECT r.*, r.xmin FROM ${records} r ${where} AND (SELECT n FROM n) > ${SORTED_MAX} ${newest})) r`)}`,
    ),
    values,
  };
}

export function countStatement({ records }: Tables): Statement {
  return statement('count', `SELECT state, count(*) FROM ${records} GROUP BY state`);
}
