/** The SQL of messages beside their delivery: groups that go on, dead letters that come back, what operators read. */

import { NEVER } from '../../../store/machine/index.ts';
import { reopenedClaimId } from '../../../core/record.ts';
import { MESSAGE_STATES, type MessageListRequest } from '../../../store/message.ts';
import { bell, MESSAGE_COLUMNS } from './messages-statements.ts';
import type { SqlValue, Statement } from '../client.ts';
import { textArray } from '../parameters.ts';
import { placed, statement } from '../statements.ts';
import { instant, milliseconds, type Tables } from '../tables.ts';

/**
 * The first of each group of $1 may be looked at again; also if a take has just parked it, hence by its place. Its
 * state is asked for in a way that fits no index: that of all which are ready would be read whole.
 */
export function unparkStatement({ messages, clock }: Tables): Statement {
  return statement(
    'unpark',
    `WITH ${clock}, next AS MATERIALIZED (SELECT e.place FROM t, unnest($1::text[]) AS q (group_key)
  CROSS JOIN LATERAL (SELECT e.place FROM ${messages} e WHERE e.group_key = q.group_key AND e.state <> 'dead'
    ORDER BY e.place LIMIT 1 FOR UPDATE) e)
UPDATE ${messages} m SET parked = false WHERE m.place = ANY (ARRAY(SELECT place FROM next))
  AND CASE m.state WHEN 'ready' THEN true END RETURNING 1`,
  );
}

/** Groups after $1 that have parked messages, at most $2, in order; each by one step in the index. */
export function parkedGroupsStatement({ messages }: Tables): Statement {
  const next = (after: string): string =>
    `(SELECT m.group_key FROM ${messages} m WHERE m.parked AND m.group_key > ${after} ORDER BY m.group_key LIMIT 1)`;
  return statement(
    'parked_groups',
    `WITH RECURSIVE g (group_key, n) AS (SELECT ${next('$1::text')}, 1
  UNION ALL SELECT ${next('g.group_key')}, g.n + 1 FROM g WHERE g.group_key IS NOT NULL AND g.n < $2::int)
SELECT group_key FROM g WHERE group_key IS NOT NULL`,
  );
}

/** Of the groups $1: those whose first message is parked. A dead worker left it so. */
export function stuckGroupsStatement({ messages }: Tables): Statement {
  return statement(
    'stuck_groups',
    `SELECT q.group_key FROM unnest($1::text[]) AS q (group_key)
CROSS JOIN LATERAL (SELECT e.parked FROM ${messages} e WHERE e.group_key = q.group_key AND e.state <> 'dead'
  ORDER BY e.place LIMIT 1) e WHERE e.parked`,
  );
}

/** What was reopened may still be replayed elsewhere: `decideRequeue`. */
function dueAt(of: string): string {
  return `CASE WHEN ${of}.was = 'retryable' THEN greatest(t.now, ${of}.until) ELSE t.now END`;
}

/**
 * Dead letters of $1 become ready, as `mayRequeue` says, and records of theirs `pending`: a record that has moved on
 * since, was answered, or is gone keeps its letter dead. Those of a group get a new place, at its end: it is inserted
 * anew, because places are given by the table alone. Each leaves a row in the audit, with the reason $2 and the actor
 * $3. Gives the ids.
 */
export function requeueStatement(tables: Tables, channel: string): Statement {
  const columns =
    'id, topic, group_key, headers, payload, started, proven, provider_id, last_error, scope, key, claim_id, attempt, created_at';
  return statement(
    'requeue',
    `WITH ${tables.clock}, dead AS MATERIALIZED (SELECT m.* FROM unnest($1::text[]) AS q (id)
  CROSS JOIN LATERAL (SELECT m.ctid AS tid, m.group_key, m.scope, m.key, m.claim_id, m.attempt
    FROM ${tables.messages} m WHERE m.id = q.id AND m.state = 'dead' LIMIT 1 FOR UPDATE) m),
had AS MATERIALIZED (SELECT dead.tid AS letter, r.* FROM dead CROSS JOIN LATERAL (SELECT r.ctid AS tid, r.scope, r.key, r.state, r.operation,
    r.locked_until, dead.claim_id AS own_claim
  FROM ${tables.records} r WHERE r.scope = dead.scope AND r.key = dead.key AND r.attempt = dead.attempt
    AND (r.claim_id = dead.claim_id AND r.state IN ('unknown', 'pending')
      OR r.claim_id = '${reopenedClaimId('')}' || dead.claim_id AND r.state = 'retryable') LIMIT 1 FOR NO KEY UPDATE) r),
handed AS (UPDATE ${tables.records} r SET claim_id = had.own_claim, state = 'pending', locked_until = ${instant(String(NEVER))}, proof = NULL, reason = NULL,
  response_status = NULL, response_headers = NULL, response_trailers = NULL, response_body = NULL,
  reconcile_after = NULL, inquiries = 0, finished_at = NULL
  FROM had WHERE ${placed('had')} AND had.state <> 'pending' RETURNING had.letter),
q AS MATERIALIZED (SELECT dead.tid, dead.group_key, had.state AS was, had.locked_until AS until, had.operation
  FROM dead LEFT JOIN had ON had.letter = dead.tid
  WHERE dead.scope IS NULL OR had.state = 'pending' OR EXISTS (SELECT 1 FROM handed WHERE handed.letter = dead.tid)),
groups AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended('samekey-group:' || g.group_key, 0)) AS locked
  FROM (SELECT DISTINCT group_key FROM q WHERE group_key IS NOT NULL ORDER BY group_key) g),
held AS MATERIALIZED (SELECT count(locked) AS n FROM groups),
alone AS (UPDATE ${tables.messages} m SET state = 'ready', due_at = ${dueAt('q')}, finished = m.started, forgiven = m.started
  FROM q, t WHERE m.ctid = q.tid AND q.group_key IS NULL
  RETURNING m.id, m.scope, m.key, m.attempt, q.was, q.operation),
left_line AS (DELETE FROM ${tables.messages} m USING q WHERE m.ctid = q.tid AND q.group_key IS NOT NULL
  RETURNING m.*, q.was, q.until, q.operation),
joined AS (INSERT INTO ${tables.messages} (${columns}, due_at, finished, forgiven)
  SELECT ${columns}, ${dueAt('left_line')}, started, started FROM held, t, left_line WHERE held.n >= 0
  RETURNING id, scope, key, attempt),
back AS (SELECT * FROM alone UNION ALL SELECT joined.*, left_line.was, left_line.operation
  FROM joined JOIN left_line ON left_line.id = joined.id),
noted AS (INSERT INTO ${tables.audit} (at, scope, key, operation, attempt, act, from_state, to_state, reason, actor)
  SELECT t.now, coalesce(back.scope, ''), coalesce(back.key, back.id), back.operation, coalesce(back.attempt, 0), 'requeue',
    back.was, CASE WHEN back.was IS NOT NULL THEN 'pending' END, $2::text, $3::text FROM t, back)
SELECT id, ${bell(tables, channel)} AS rung FROM back`,
  );
}

/**
 * Deletes the dead letters of $1, each with a row in the audit, with the reason $2 and the actor $3; gives their ids.
 */
export function dropStatement({ messages, records, audit, clock }: Tables): Statement {
  return statement(
    'drop_dead',
    `WITH ${clock}, gone AS (DELETE FROM ${messages} m USING unnest($1::text[]) AS q (id)
  WHERE m.id = q.id AND m.state = 'dead' RETURNING m.id, m.scope, m.key, m.claim_id, m.attempt),
noted AS (INSERT INTO ${audit} (at, scope, key, operation, attempt, act, from_state, to_state, reason, actor)
  SELECT t.now, coalesce(gone.scope, ''), coalesce(gone.key, gone.id), r.operation, coalesce(gone.attempt, 0), 'drop',
    r.state, r.state, $2::text, $3::text
  FROM t, gone LEFT JOIN LATERAL (SELECT r.operation, r.state FROM ${records} r WHERE r.scope = gone.scope AND r.key = gone.key
    AND r.claim_id = gone.claim_id AND r.attempt = gone.attempt LIMIT 1) r ON true)
SELECT id FROM gone`,
  );
}

export function countMessagesStatement({ messages }: Tables): Statement {
  return statement('count_messages', `SELECT topic, state, count(*) FROM ${messages} GROUP BY topic, state`);
}

/** The oldest first. What is asked for alone stands there: dead letters have indexes of their own. */
export function listMessagesStatement(
  { messages }: Tables,
  { after = 0, states = MESSAGE_STATES, topic, owner }: MessageListRequest,
  limit: number,
): { readonly statement: Statement; readonly values: readonly SqlValue[] } {
  const values: SqlValue[] = [];
  const parameter = (value: string): string => `$${values.push(value)}`;
  const isDead = states.length === 1 && states[0] === 'dead';
  const conditions = [`m.state = ${isDead ? "'dead'" : `ANY (${parameter(textArray(states))}::text[])`}`];
  if (after > 0) conditions.push(`m.place > ${parameter(String(after))}::bigint`);
  if (topic !== undefined) conditions.push(`m.topic = ${parameter(topic)}::text`);
  if (owner !== undefined)
    conditions.push(`m.scope = ${parameter(owner.scope)}::text AND m.key = ${parameter(owner.key)}::text`);
  return {
    statement: statement(
      'list_messages',
      `SELECT ${MESSAGE_COLUMNS} FROM ${messages} m WHERE ${conditions.join(' AND ')}
ORDER BY m.place LIMIT ${parameter(String(limit))}::int`,
    ),
    values,
  };
}

/** Workers listen for $1 more milliseconds. */
export function listenedStatement({ meta, clock }: Tables): Statement {
  return statement(
    'listened',
    `WITH ${clock} UPDATE ${meta} SET value = ${milliseconds('t.now')} + $1::bigint FROM t
WHERE name = 'messages_listened_until' AND value < ${milliseconds('t.now')} + $1::bigint / 2`,
  );
}
