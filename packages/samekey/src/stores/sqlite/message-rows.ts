/** Messages as rows of SQLite: reading, writing, and nothing decided. */

import type { MessageListRequest, MessageState, StoredMessage } from '../../store/message.ts';
import { MESSAGE_STATES } from '../../store/message.ts';
import { MESSAGE_COLUMNS, messageOf, messageValues } from '../sql/message-row.ts';
import { type ColumnValue, number, type Row } from '../sql/record-row.ts';
import { listLimit } from '../verbs/reads.ts';
import type { WatchedClaim } from './clock.ts';
import { type Connection, expectOne } from './client.ts';

/** A row: the message, and what its lease is watched by. */
export interface MessageRow extends StoredMessage {
  readonly leaseMs: number | null;
  /** How often its lease was lengthened: what must stand still before it counts as over. */
  readonly extended: number;
}

const COLUMNS = [...MESSAGE_COLUMNS, 'lease_ms', 'extended'];
const SELECT = `SELECT place, ${COLUMNS.join(', ')} FROM samekey_messages`;
const INSERT = `INSERT INTO samekey_messages (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})`;
const UPDATE = `UPDATE samekey_messages SET ${COLUMNS.map((name) => `${name} = ?`).join(', ')} WHERE place = ?`;
const DELETE = 'DELETE FROM samekey_messages WHERE place = ?';
const READY = `${SELECT} WHERE topic = ? AND state = 'ready' AND parked = 0 AND due_at <= ? ORDER BY due_at, place LIMIT ?`;
const LEASED = `${SELECT} WHERE topic = ? AND state = 'leased' ORDER BY place LIMIT ?`;
const NEXT_READY = `SELECT due_at FROM samekey_messages WHERE topic = ? AND state = 'ready' AND parked = 0 ORDER BY due_at LIMIT 1`;
const PARK_BEHIND =
  'UPDATE samekey_messages SET parked = 1 WHERE place IN (SELECT place FROM samekey_messages ' +
  "WHERE group_key = ? AND place > ? AND state = 'ready' AND state <> 'dead' AND parked = 0 ORDER BY place LIMIT ?)";
const FIRST_OF_GROUP = `${SELECT} WHERE group_key = ? AND state <> 'dead' ORDER BY place LIMIT 1`;
const DEAD = `${SELECT} WHERE id = ? AND state = 'dead'`;
const COUNT = 'SELECT topic, state, count(*) AS n FROM samekey_messages GROUP BY topic, state';

/** Rows inside an open transaction or a read. */
interface MessageRows {
  at(place: number): MessageRow | null;
  ready(topic: string, now: number, limit: number): MessageRow[];
  leased(topic: string, limit: number): MessageRow[];
  /** When the next one of the topic is due; null for none. */
  nextReady(topic: string): number | null;
  firstOf(group: string): MessageRow | null;
  /** What is behind one of its group that is parked is parked too, at most `limit`. */
  parkBehind(group: string, place: number, limit: number): void;
  dead(id: string): MessageRow | null;
  insert(row: Omit<MessageRow, 'place'>): void;
  write(row: MessageRow): void;
  remove(place: number): void;
  list(request: MessageListRequest): MessageRow[];
  count(): { readonly topic: string; readonly state: MessageState; readonly count: number }[];
}

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
    parkBehind: (group, place, limit) => void connection.run(PARK_BEHIND, group, place, limit),
    dead: (id) => one(connection.get(DEAD, id)),
    insert: (row) => expectOne(connection.run(INSERT, ...valuesOf(row)), 'insert'),
    write: (row) => expectOne(connection.run(UPDATE, ...valuesOf(row), row.place), 'update'),
    remove: (place) => expectOne(connection.run(DELETE, place), 'delete'),
    list(request) {
      const states = [...new Set(request.states ?? MESSAGE_STATES)];
      const limit = listLimit(request);
      const { topic, owner } = request;
      const ofOwner = owner === undefined ? '' : ' AND scope = ? AND key = ?';
      // By the small index of dead ones: the queue beside them may be long, and SQLite is read on the event loop.
      const isDead = states.length === 1 && states[0] === 'dead';
      const wanted = isDead
        ? `place IN (SELECT place FROM samekey_messages WHERE state = ? AND state = 'dead' AND id >= ''${ofOwner})`
        : `state IN (${states.map(() => '?').join(', ')})${ofOwner}`;
      const conditions = ['place > ?', wanted, ...(topic === undefined ? [] : ['topic = ?'])];
      const text = `${SELECT} WHERE ${conditions.join(' AND ')} ORDER BY place LIMIT ?`;
      const filters = [
        ...(owner === undefined ? [] : [owner.scope, owner.key]),
        ...(topic === undefined ? [] : [topic]),
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
  return [...messageValues(row), row.leaseMs, row.extended];
}

function rowOf(row: Row): MessageRow {
  return {
    ...messageOf(row['place'], (column) => row[column]),
    leaseMs: row['lease_ms'] === null ? null : number(row['lease_ms']),
    extended: number(row['extended']),
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
