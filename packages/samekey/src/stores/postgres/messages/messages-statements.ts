/**
 * The SQL of messages. As in statements.ts, rows are found in LATERAL subqueries with a lock or a LIMIT, which no plan
 * can turn into a reading of the whole table, and written by ctid: a row whose newest version the statement's snapshot
 * cannot see is left as it is. That fits rows with one writer (whoever has the lease), and statements that leave out
 * what is locked; one that waits for others writes by id, and PostgreSQL looks at the newest version.
 *
 * A group goes one after the other. A take that meets a message behind another of its group parks it, once; whoever
 * ends the one ahead unparks the next, in a statement of its own: only a new snapshot sees what was committed
 * meanwhile. It also writes a row that is not parked, so that a take which looked before cannot park it any more.
 */

import { PARKED_MAX } from '../../../store/message.ts';
import { FINISH_INPUT } from '../input-columns.ts';
import { type Arity, type InputColumn, inputRows } from '../parameters.ts';
import type { Statement } from '../client.ts';
import { ownRecord, referring } from '../references/references-parts.ts';
import { FINISH_FENCE, statement, updateFinished } from '../statements.ts';
import { interval, milliseconds, type Tables } from '../tables.ts';

const text = (name: string): InputColumn => ({ name, type: 'text' });
const int = (name: string): InputColumn => ({ name, type: 'int' });
const bigint = (name: string): InputColumn => ({ name, type: 'bigint' });

export const ENQUEUE_INPUT: readonly InputColumn[] = [
  text('id'),
  text('topic'),
  text('group_key'),
  text('payload'),
  text('headers'),
  bigint('delay_ms'),
  text('scope'),
  text('key'),
  text('claim_id'),
  int('attempt'),
];

/** A message that brings its owner's reference. */
export const REFERRED_ENQUEUE_INPUT: readonly InputColumn[] = [...ENQUEUE_INPUT, text('reference')];

const LEASE: readonly InputColumn[] = [bigint('place'), text('lease_id'), int('started')];

export const DONE_INPUT: readonly InputColumn[] = LEASE;
export const EXTEND_INPUT: readonly InputColumn[] = [...LEASE, bigint('lease_ms')];
export const NOTE_INPUT: readonly InputColumn[] = [...LEASE, text('provider_id')];
export const REFERRED_NOTE_INPUT: readonly InputColumn[] = [...NOTE_INPUT, text('reference')];
export const BACK_INPUT: readonly InputColumn[] = [
  ...LEASE,
  text('state'),
  bigint('delay_ms'),
  text('error'),
  int('begun'),
  int('proven'),
];
/** The end of a handed-over attempt, and what becomes of its message: `done` or `dead`. */
export const SETTLE_INPUT: readonly InputColumn[] = [
  ...FINISH_INPUT,
  bigint('place'),
  text('lease_id'),
  int('started'),
  text('fate'),
  text('error'),
  int('begun'),
  int('proven'),
];

/** Columns of a message as the store reads them; of a row called `m`. */
export const MESSAGE_COLUMNS: string = [
  'm.place',
  'm.id',
  'm.topic',
  'm.group_key',
  'm.state',
  'm.parked',
  `${milliseconds('m.due_at')} AS due_ms`,
  `${milliseconds('m.created_at')} AS created_ms`,
  'm.started',
  'm.finished',
  'm.proven',
  'm.forgiven',
  'm.lease_id',
  'm.provider_id',
  'm.last_error',
  'm.scope',
  'm.key',
  'm.claim_id',
  'm.attempt',
  'm.headers',
  'm.payload',
].join(', ');

/** When somebody listens, they are told; nobody pays for NOTIFY while all workers are busy. */
export function bell({ meta }: Tables, channel: string): string {
  return `(SELECT pg_notify('${channel}', '')::text FROM ${meta} WHERE name = 'messages_listened_until'
  AND value > ${milliseconds('(SELECT now FROM t)')})`;
}

/**
 * Puts messages in. Groups are locked, in one order, until the transaction ends, and only then places are given: so
 * places follow commits. `within`: inside a user's transaction, whose lock_timeout is the user's. `refers`: references
 * of their owners' records come with them.
 */
export function enqueueStatement(
  tables: Tables,
  arity: Arity,
  channel: string,
  { within = false, refers = false }: { readonly within?: boolean; readonly refers?: boolean },
): Statement {
  const owned = `,
own AS MATERIALIZED (SELECT q.reference, r.*, NULL::text AS effect FROM q
  CROSS JOIN LATERAL ${ownRecord(tables, 'q', 'LIMIT 1')} r WHERE q.reference IS NOT NULL),
${referring(tables, 'own')}`;
  return statement(
    `enqueue${within ? '_within' : ''}${refers ? '_referred' : ''}`,
    `WITH ${within ? tables.clockWithin : tables.clock}, q AS MATERIALIZED (SELECT q.* FROM ${inputRows(refers ? REFERRED_ENQUEUE_INPUT : ENQUEUE_INPUT, arity)}),
groups AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended('samekey-group:' || g.group_key, 0)) AS locked
  FROM (SELECT DISTINCT group_key FROM q WHERE group_key IS NOT NULL ORDER BY group_key) g),
held AS MATERIALIZED (SELECT count(locked) AS n FROM groups),
put AS (INSERT INTO ${tables.messages} (id, topic, group_key, payload, headers, due_at, created_at, scope, key, claim_id, attempt)
SELECT q.id, q.topic, q.group_key, q.payload, q.headers, t.now + ${interval('q.delay_ms')}, t.now, q.scope, q.key,
  q.claim_id, q.attempt FROM held, t, q WHERE held.n >= 0 RETURNING 1)${refers ? owned : ''}
SELECT (SELECT count(*) FROM put) AS put, ${bell(tables, channel)} AS rung`,
  );
}

/**
 * What is behind one that was met behind its group's first is parked with it: that one is locked, and stays before
 * them. $1 topics, $2 limit, $3 leaseId, $4 lease in ms, $5 suspects, $6 deliveries. Gives the messages leased, and
 * those that were met and parked.
 */
export function takeStatement({ messages, clock }: Tables): Statement {
  const exhausted = 'm.started - m.forgiven >= $6::int AS exhausted';
  return statement(
    'take',
    `WITH ${clock},
over AS MATERIALIZED (SELECT m.tid, true AS head, m.exhausted FROM t, unnest($1::text[]) AS q (topic)
  CROSS JOIN LATERAL (SELECT m.ctid AS tid, ${exhausted} FROM ${messages} m WHERE m.topic = q.topic
    AND m.state = 'leased' AND m.due_at <= t.now - ${interval('$held::bigint')} ORDER BY m.due_at LIMIT $5::int FOR UPDATE SKIP LOCKED) m LIMIT $5::int),
due AS MATERIALIZED (SELECT m.* FROM t, unnest($1::text[]) AS q (topic)
  CROSS JOIN LATERAL (SELECT m.ctid AS tid, (m.group_key IS NULL OR NOT EXISTS (SELECT 1 FROM ${messages} e
      WHERE e.group_key = m.group_key AND e.state <> 'dead' AND e.place < m.place)) AS head, ${exhausted}, m.group_key, m.place
    FROM ${messages} m WHERE m.topic = q.topic AND m.state = 'ready' AND NOT m.parked AND m.due_at <= t.now
    ORDER BY m.due_at, m.place LIMIT $2::int FOR UPDATE OF m SKIP LOCKED) m LIMIT $2::int),
met AS MATERIALIZED (SELECT group_key, min(place) AS place FROM due WHERE NOT head GROUP BY group_key),
behind AS (SELECT m.tid FROM met CROSS JOIN LATERAL (SELECT m.ctid AS tid FROM ${messages} m WHERE m.group_key = met.group_key
    AND m.place > met.place AND m.state = 'ready' AND NOT m.parked ORDER BY m.place LIMIT ${PARKED_MAX} FOR UPDATE SKIP LOCKED) m
  WHERE m.tid NOT IN (SELECT tid FROM due)),
parked AS (UPDATE ${messages} m SET parked = true FROM behind WHERE m.ctid = behind.tid),
had AS (SELECT * FROM over UNION ALL SELECT tid, head, exhausted FROM due)
UPDATE ${messages} m SET state = CASE WHEN had.head THEN 'leased' ELSE m.state END, parked = NOT had.head,
  lease_id = CASE WHEN had.head THEN $3::text END,
  due_at = CASE WHEN had.head THEN t.now + ${interval('$4::bigint')} ELSE m.due_at END,
  started = m.started + CASE WHEN had.head AND NOT had.exhausted THEN 1 ELSE 0 END
FROM had, t WHERE m.ctid = had.tid
RETURNING ${MESSAGE_COLUMNS}, had.exhausted::int`,
  );
}

/**
 * When the next message of the topics $1 is due, in milliseconds from now; null for none. Leases count if $2 is not 0.
 */
export function nextDueStatement({ messages, clockWithin }: Tables): Statement {
  const first = (condition: string): string =>
    `(SELECT m.due_at FROM ${messages} m WHERE m.topic = q.topic AND ${condition} ORDER BY m.due_at LIMIT 1)`;
  return statement(
    'next_due',
    `WITH ${clockWithin}
SELECT (extract(epoch FROM min(least(${first("m.state = 'ready' AND NOT m.parked")}, ${first("m.state = 'leased' AND $2::int > 0")})) - min(t.now)) * 1000)::bigint
FROM t, unnest($1::text[]) AS q (topic)`,
  );
}

/**
 * The rows whose leases still hold, locked; `held`. Only a leased message has a lease: a look at its state would let
 * the planner take the index of the leased ones, which it believes to be empty, and read all of it for each row.
 */
function held({ messages }: Tables, input: readonly InputColumn[], arity: Arity): string {
  return `held AS MATERIALIZED (SELECT q.*, m.tid, m.group_key, t.now FROM t, ${inputRows(input, arity)}
CROSS JOIN LATERAL (SELECT m.ctid AS tid, m.group_key FROM ${messages} m WHERE m.place = q.place
  AND m.lease_id = q.lease_id AND m.started = q.started FOR UPDATE) m)`;
}

/** Ends deliveries. Each of these gives place and group of the rows written. */
export function doneStatement(tables: Tables, arity: Arity): Statement {
  return statement(
    'done',
    `WITH ${tables.clock}, ${held(tables, DONE_INPUT, arity)}
DELETE FROM ${tables.messages} m USING held WHERE m.ctid = held.tid RETURNING m.place, m.group_key`,
  );
}

/**
 * Ends deliveries $1 of one take, whose lease is $2: a lease belongs to one take, so it names the delivery by itself.
 * Most ends come so, and need no lock beforehand.
 */
export function doneOfTakeStatement({ messages, clock }: Tables): Statement {
  return statement(
    'done_of_take',
    `WITH ${clock} DELETE FROM ${messages} m USING t WHERE m.place = ANY ($1::bigint[]) AND m.lease_id = $2::text
AND t.now IS NOT NULL RETURNING m.place, m.group_key`,
  );
}

export function extendStatement(tables: Tables, arity: Arity): Statement {
  return statement(
    'extend',
    `WITH ${tables.clock}, ${held(tables, EXTEND_INPUT, arity)}
UPDATE ${tables.messages} m SET due_at = held.now + ${interval('held.lease_ms')} FROM held WHERE m.ctid = held.tid
RETURNING m.place, NULL`,
  );
}

export function noteStatement(tables: Tables, arity: Arity): Statement {
  return statement(
    'note',
    `WITH ${tables.clock}, ${held(tables, NOTE_INPUT, arity)}
UPDATE ${tables.messages} m SET provider_id = held.provider_id FROM held WHERE m.ctid = held.tid
RETURNING m.place, NULL`,
  );
}

/**
 * The same, with references of their owners' records; none where nobody waits for the delivery any more: what ended may
 * be erased.
 */
export function referredNoteStatement(tables: Tables, arity: Arity): Statement {
  return statement(
    'note_referred',
    `WITH ${tables.clock}, ${held(tables, REFERRED_NOTE_INPUT, arity)},
noted AS (UPDATE ${tables.messages} m SET provider_id = held.provider_id FROM held WHERE m.ctid = held.tid
  RETURNING m.place, m.scope, m.key, m.claim_id, m.attempt, held.reference),
own AS MATERIALIZED (SELECT noted.reference, r.*, NULL::text AS effect FROM noted
  CROSS JOIN LATERAL ${ownRecord(tables, 'noted', "AND r.state = 'pending' LIMIT 1 FOR SHARE")} r
  WHERE noted.reference IS NOT NULL),
${referring(tables, 'own')}
SELECT noted.place, NULL FROM noted`,
  );
}

const BACK = `lease_id = NULL, started = m.started - CASE WHEN q.state = 'ready' THEN 1 - q.begun ELSE 0 END,
  finished = m.finished + q.begun,
  proven = m.proven + q.begun * q.proven, last_error = coalesce(q.error, m.last_error)`;

/** Handed back, what was a suspect before it was taken is one still. */
const BACK_STATE = `CASE WHEN q.state = 'ready' AND q.begun = 0 AND m.started - 1 > m.finished THEN 'leased' ELSE q.state END`;

/** Back in line, or dead. */
export function backStatement(tables: Tables, arity: Arity): Statement {
  return statement(
    'back',
    `WITH ${tables.clock}, ${held(tables, BACK_INPUT, arity)}
UPDATE ${tables.messages} m SET state = ${BACK_STATE}, due_at = q.now + ${interval('q.delay_ms')}, ${BACK}
FROM held AS q WHERE m.ctid = q.tid
RETURNING m.place, CASE WHEN q.state = 'dead' THEN m.group_key END`,
  );
}

/**
 * One message and the record that was handed over with it, together. Gives whether each was written, and the group. The
 * record is written by its id: sweeper and reaper write in records that they leave as they are, and the version that
 * they have just committed would be locked and not seen. Its id comes by subqueries: a join could be planned as a
 * reading of the whole index.
 */
export function settleStatement(tables: Tables): Statement {
  return statement(
    'settle_message',
    `WITH ${tables.clock}, q AS MATERIALIZED (SELECT q.*, t.now, t.later FROM t, ${inputRows(SETTLE_INPUT, 'one')}),
held AS MATERIALIZED (SELECT m.tid, m.group_key FROM q CROSS JOIN LATERAL (SELECT m.ctid AS tid, m.group_key
  FROM ${tables.messages} m WHERE m.place = q.place AND m.lease_id = q.lease_id
  AND m.started = q.started FOR UPDATE) m),
written AS (${updateFinished(tables, SETTLE_INPUT)} FROM q WHERE r.scope = (SELECT q.scope FROM q, held)
  AND r.key = (SELECT q.key FROM q, held) AND ${FINISH_FENCE} RETURNING 1),
gone AS (DELETE FROM ${tables.messages} m USING q, held WHERE m.ctid = held.tid AND q.fate = 'done'),
dead AS (UPDATE ${tables.messages} m SET state = 'dead', lease_id = NULL, due_at = q.now,
  finished = m.finished + q.begun, proven = m.proven + q.begun * q.proven,
  last_error = coalesce(q.error, m.last_error) FROM q, held WHERE m.ctid = held.tid AND q.fate = 'dead')
SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM written), (SELECT group_key FROM held)`,
  );
}
