/** Messages as rows of SQLite: reading, writing, and nothing decided. */

import type { MessageListRequest, MessageState, StoredMessage } from '../../core/message.ts';
import { MESSAGE_STATES } from '../../core/message.ts';
import { type ColumnValue, exact, number, type Row, shown } from '../sql/record-row.ts';
import type { WatchedClaim } from './clock.ts';
import { type Connection, expectOne } from './sqlite-client.ts';

/** A row: the message, and what its lease is watched by. */
export interface MessageRow extends StoredMessage {
  readonly leaseMs: number | null;
  /** How often its lease was lengthened: what must stand still before it counts as over. */
  readonly extended: number;
}

const COLUMNS = [
  'id',
  'topic',
  'group_key',
  'state',
  'parked',
  'due_at',
  'created_at',
  'started',
  'finished',
  'proven',
  'forgiven',
  'lease_id',
  'lease_ms',
  'extended',
  'provider_id',
  'last_error',
  'scope',
  'key',
  'claim_id',
  'attempt',
  'headers',
  'payload',
];
const SELECT = `SELECT place, ${COLUMNS.join(', ')} FROM samekey_messages`;
const INSERT = `INSERT INTO samekey_messages (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})`;
const UPDATE = `UPDATE samekey_messages SET ${COLUMNS.map((name) => `${name} = ?`).join(', ')} WHERE place = ?`;
const DELETE = 'DELETE FROM samekey_messages WHERE place = ?';
const READY = `${SELECT} WHERE topic = ? AND state = 'ready' AND parked = 0 AND due_at <= ? ORDER BY due_at, place LIMIT ?`;
const LEASED = `${SELECT} WHERE topic = ? AND state = 'leased' ORDER BY place LIMIT ?`;
const NEXT_READY = `SELECT due_at FROM samekey_messages WHERE topic = ? AND state = 'ready' AND parked = 0 ORDER BY due_at LIMIT 1`;
const FIRST_OF_GROUP = `${SELECT} WHERE group_key = ? AND state <> 'dead' ORDER BY place LIMIT 1`;
const DEAD = `${SELECT} WHERE id = ? AND state = 'dead'`;
const COUNT = 'SELECT topic, state, count(*) AS n FROM samekey_messages GROUP BY topic, state';

/** Rows inside an open transaction or a read. */
export interface MessageRows {
  at(place: number): MessageRow | null;
  ready(topic: string, now: number, limit: number): MessageRow[];
  leased(topic: string, limit: number): MessageRow[];
  /** When the next one of the topic is due; null for none. */
  nextReady(topic: string): number | null;
  firstOf(group: string): MessageRow | null;
  dead(id: string): MessageRow | null;
  insert(row: Omit<MessageRow, 'place'>): void;
  write(row: MessageRow): void;
  remove(place: number): void;
  list(request: MessageListRequest): MessageRow[];
  count(): { readonly topic: string; readonly state: MessageState; readonly count: number }[];
}

/** As `MessageListRequest` says. */
const LIST_LIMIT = 100;
const LIST_LIMIT_MAX = 1_000;

/** Makes the rows of one connection. */
export function createMessageRows(connection: Connection): MessageRows {
  return {
    at: (place) => one(connection.get(`${SELECT} WHERE place = ?`, place)),
    ready: (topic, now, limit) => connection.all(READY, topic, now, limit).map(rowOf),
    leased: (topic, limit) => connection.all(LEASED, topic, limit).map(rowOf),
    nextReady(topic) {
      const row = connection.get(NEXT_READY, topic);
      return row === undefined ? null : number(row['due_at']);
    },
    firstOf: (group) => one(connection.get(FIRST_OF_GROUP, group)),
    dead: (id) => one(connection.get(DEAD, id)),
    insert: (row) => expectOne(connection.run(INSERT, ...valuesOf(row)), 'insert'),
    write: (row) => expectOne(connection.run(UPDATE, ...valuesOf(row), row.place), 'update'),
    remove: (place) => expectOne(connection.run(DELETE, place), 'delete'),
    list(request) {
      const states = [...new Set(request.states ?? MESSAGE_STATES)];
      const limit = Math.min(LIST_LIMIT_MAX, Math.max(1, request.limit ?? LIST_LIMIT));
      const { topic, owner } = request;
      const conditions = [
        `place > ? AND state IN (${states.map(() => '?').join(', ')})`,
        ...(topic === undefined ? [] : ['topic = ?']),
        ...(owner === undefined ? [] : ['scope = ? AND key = ?']),
      ];
      const text = `${SELECT} WHERE ${conditions.join(' AND ')} ORDER BY place LIMIT ?`;
      const filters = [
        ...(topic === undefined ? [] : [topic]),
        ...(owner === undefined ? [] : [owner.scope, owner.key]),
      ];
      return connection.all(text, request.after ?? 0, ...states, ...filters, limit).map(rowOf);
    },
    count: () =>
      connection.all(COUNT).map((row) => ({
        topic: String(row['topic']),
        state: String(row['state']) as MessageState,
        count: number(row['n']),
      })),
  };
}

function one(row: Row | undefined): MessageRow | null {
  return row === undefined ? null : rowOf(row);
}

function valuesOf(row: Omit<MessageRow, 'place'>): ColumnValue[] {
  const { owner } = row;
  return [
    exact(row.id),
    exact(row.topic),
    row.group === null ? null : exact(row.group),
    row.state,
    row.parked ? 1 : 0,
    row.dueAt,
    row.createdAt,
    row.started,
    row.finished,
    row.proven,
    row.forgiven,
    row.leaseId,
    row.leaseMs,
    row.extended,
    row.providerId === null ? null : exact(row.providerId),
    shown(row.lastError),
    owner === null ? null : exact(owner.scope),
    owner === null ? null : exact(owner.key),
    owner === null ? null : exact(owner.claimId),
    owner?.attempt ?? null,
    row.headers,
    row.payload,
  ];
}

function rowOf(row: Row): MessageRow {
  const text = (name: string): string | null => (row[name] ?? null) as string | null;
  const [scope, key, claimId] = [text('scope'), text('key'), text('claim_id')];
  return {
    place: number(row['place']),
    id: String(row['id']),
    topic: String(row['topic']),
    group: text('group_key'),
    state: String(row['state']) as MessageState,
    parked: number(row['parked']) === 1,
    dueAt: number(row['due_at']),
    createdAt: number(row['created_at']),
    started: number(row['started']),
    finished: number(row['finished']),
    proven: number(row['proven']),
    forgiven: number(row['forgiven']),
    leaseId: text('lease_id'),
    leaseMs: row['lease_ms'] === null ? null : number(row['lease_ms']),
    extended: number(row['extended']),
    providerId: text('provider_id'),
    lastError: text('last_error'),
    owner:
      scope === null || key === null || claimId === null
        ? null
        : { scope, key, claimId, attempt: number(row['attempt']) },
    headers: text('headers'),
    payload: String(row['payload']),
  };
}

/** The lease, as the watch of claims sees it. */
export function lease(row: MessageRow): WatchedClaim {
  return {
    scope: 'message',
    key: String(row.place),
    claimId: row.leaseId ?? '',
    attempt: row.started,
    createdAt: row.createdAt,
    renewals: row.extended,
    claimTtlMs: row.leaseMs ?? 0,
  };
}
