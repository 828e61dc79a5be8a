/**
 * Records as items: the columns of `stores/sql` as attributes, for people who look into the table; absent stands for
 * null. Beside them the version (`w`, a word used once, so that a writer knows its own write again), what the indexes
 * find it by, and rows of the audit that are not in their place yet (`notes`).
 *
 * Invariants: what is written reads back equal to the byte · attributes this code does not know stay as they are · a
 * record that is not final has no `ttl`, and neither has one with rows of the audit.
 */

import { sha256Bytes } from '../../fingerprint/sha256.ts';
import type { AuditRow } from '../../store/audit.ts';
import { NEVER } from '../../store/machine/index.ts';
import { idText, isFinal, type RecordId, type SamekeyRecord } from '../../core/record.ts';
import { callerOf } from '../../core/scope.ts';
import { exact, RECORD_COLUMNS, recordValues, rowRecord } from '../sql/record-row.ts';
import { AUDIT_COLUMNS, auditRowOf, auditValues } from '../sql/audit-row.ts';
import { type Part, PARTS, placeOf } from './bodies.ts';
import type { AttributeValue, Item } from './client.ts';
import { SHARDS, TTL_ATTRIBUTE } from './table.ts';

/**
 * Why somebody must look after a record; the kinds of entries in the index `samekey_open`. `over`: to be deleted by us
 * at that time, because TTL does not. `note`: it is final, or gone, and its rows of the audit are not in their place.
 */
export type OpenKind = 'claim' | 'pending' | 'unknown' | 'due' | 'over' | 'note';

/** A record as it is stored. Null for one that is gone, whose row of the audit is not in its place yet. */
export interface Stored {
  readonly record: SamekeyRecord | null;
  readonly version: string;
  /** For how long whoever asks about it was given it, in milliseconds; null before. */
  readonly leaseMs: number | null;
  readonly notes: readonly AuditRow[];
  readonly item: Item;
}

/** What is written beside the record. */
interface Beside {
  readonly version: string;
  readonly leaseMs: number | null;
  readonly notes: readonly AuditRow[];
  /** Whether TTL deletes final records; else the reaper finds them by an entry. */
  readonly timeToLive: boolean;
}

/** The digest that spreads the keys of one caller. */
export function digestOf(id: RecordId): string {
  const bytes = sha256Bytes(new TextEncoder().encode(idText({ scope: exact(id.scope), key: exact(id.key) })));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Where a record is. */
export function keyOf(id: RecordId): Item {
  return { pk: { S: `r|${digestOf(id)}` }, sk: { S: '-' } };
}

/** The shard of a record, in both indexes and in the audit. */
export function shardOf(id: RecordId): number {
  return Number.parseInt(digestOf(id).slice(0, 8), 16) % SHARDS;
}

const OWN: ReadonlySet<string> = new Set([
  ...RECORD_COLUMNS,
  ...PARTS.map(placeOf),
  'pk',
  'sk',
  'w',
  'open',
  'open_at',
  'caller',
  'lease_ms',
  'notes',
  'gone',
  TTL_ATTRIBUTE,
]);

/** The item of a record; `before` gives what this code does not know. */
export function itemOf(record: SamekeyRecord, beside: Beside, before: Item | null): Item {
  const item: Record<string, AttributeValue> = {
    ...unknownIn(before),
    ...keyOf(record),
    w: { S: beside.version },
  };
  for (const [i, value] of recordValues(record).entries()) {
    if (value !== null) item[RECORD_COLUMNS[i] as string] = attribute(value);
  }
  item['caller'] = { S: `${callerOf(record.scope)}|${shardOf(record)}` };
  Object.assign(item, openAttributes(record, beside));
  if (beside.leaseMs !== null) item['lease_ms'] = { N: String(beside.leaseMs) };
  if (beside.notes.length > 0) item['notes'] = notesAttribute(beside.notes);
  const ttl = ttlOf(record);
  if (ttl !== undefined && beside.notes.length === 0) item[TTL_ATTRIBUTE] = { N: String(ttl) };
  return item;
}

/** What an entry in the index `samekey_open` is made of; nothing for a record that nobody looks for. */
export function openAttributes(
  record: SamekeyRecord,
  { notes, timeToLive }: Pick<Beside, 'notes' | 'timeToLive'>,
): Item {
  const open = openOf(record) ?? (notes.length > 0 ? NOTED : timeToLive ? lastsOf(record) : overOf(record));
  if (open === undefined) return {};
  return { open: { S: `${open.kind}|${shardOf(record)}` }, open_at: { N: String(open.at) } };
}

/** What stands for a record that is gone until its row of the audit is in its place. */
export function goneItem(id: RecordId, { version, notes }: Beside): Item {
  const open: Item = { open: { S: `note|${shardOf(id)}` }, open_at: { N: '0' } };
  return { ...keyOf(id), ...open, w: { S: version }, gone: { BOOL: true }, notes: notesAttribute(notes) };
}

/** What is stored in an item. */
export function storedOf(item: Item): Stored {
  const row: Record<string, unknown> = {};
  for (const name of RECORD_COLUMNS) row[name] = item[name] === undefined ? null : plainValue(item[name]);
  const lease = item['lease_ms'];
  const notes = item['notes'];
  return {
    record: item['gone'] === undefined ? rowRecord(row) : null,
    version: textOf(item['w']),
    leaseMs: lease === undefined ? null : Number(plainValue(lease)),
    notes:
      notes !== undefined && 'L' in notes ? notes.L.map((note) => auditRow('M' in note ? note.M : {})) : [],
    item,
  };
}

/** Epoch seconds behind the end of a final record's life, rounded up and an hour late; undefined while it must stay. */
export function ttlOf(record: SamekeyRecord): number | undefined {
  if (!isFinal(record) || record.intentAt !== null || record.expiresAt >= NEVER) return undefined;
  return Math.ceil((record.expiresAt + record.tombstoneMs) / 1_000) + 3_600;
}

/** Those places in an item whose parts the new record has unchanged. */
export function samePlaces(before: Stored | null, after: SamekeyRecord): Item {
  if (before === null || before.record === null) return {};
  const { record, item } = before;
  const same: Readonly<Record<Part, boolean>> = {
    response_body: record.response?.body === after.response?.body,
    input: record.input === after.input,
    steps: record.steps === after.steps,
  };
  const places: Record<string, AttributeValue> = {};
  for (const part of PARTS) {
    const place = item[placeOf(part)];
    if (same[part] && place !== undefined) places[placeOf(part)] = place;
  }
  return places;
}

/** A row of the audit as an item of its own, or inside a record's. */
export function auditItem(row: AuditRow): Item {
  const item: Record<string, AttributeValue> = { seq: { S: row.seq }, at: { N: String(row.at) } };
  for (const [i, value] of auditValues(row).entries()) {
    if (value !== null) item[AUDIT_COLUMNS[i] as string] = attribute(value);
  }
  return item;
}

/** The row in an item. */
export function auditRow(item: Item): AuditRow {
  const names = ['seq', 'at', ...AUDIT_COLUMNS];
  return auditRowOf(names.map((name) => (item[name] === undefined ? null : plainValue(item[name]))));
}

/** The value of a text attribute; empty when there is none. */
export function textOf(value: AttributeValue | undefined): string {
  return value !== undefined && 'S' in value ? value.S : '';
}

function notesAttribute(notes: readonly AuditRow[]): AttributeValue {
  return { L: notes.map((row) => ({ M: auditItem(row) })) };
}

const NOTED = { kind: 'note', at: 0 } as const;

/** Its end, for the reaper. What must stay has none. */
function overOf(record: SamekeyRecord): { readonly kind: OpenKind; readonly at: number } | undefined {
  // An intent without a result keeps what is not final.
  if ((record.intentAt !== null && !isFinal(record)) || record.expiresAt >= NEVER) return undefined;
  return { kind: 'over', at: record.expiresAt + record.tombstoneMs };
}

/** TTL is set on final records only: what else ends is our own to delete. */
function lastsOf(record: SamekeyRecord): { readonly kind: OpenKind; readonly at: number } | undefined {
  return ttlOf(record) === undefined ? overOf(record) : undefined;
}

function openOf(record: SamekeyRecord): { readonly kind: OpenKind; readonly at: number } | undefined {
  // Renewals move nothing: an index is written with an attempt, not with its signs of life.
  if (record.state === 'in_progress') return { kind: 'claim', at: record.createdAt };
  if (record.state === 'pending') return { kind: 'pending', at: record.lockedUntil };
  if (record.state === 'unknown') return { kind: 'unknown', at: record.reconcileAfter ?? 0 };
  const isDue = record.state === 'retryable' && record.input !== null && record.fingerprint !== null;
  return isDue ? { kind: 'due', at: record.createdAt } : undefined;
}

function attribute(value: string | number | bigint | Uint8Array): AttributeValue {
  if (value instanceof Uint8Array) return value.byteLength === 0 ? EMPTY_BYTES : { B: value };
  return typeof value === 'string' ? { S: value } : { N: String(value) };
}

/** Engines before 2020, and stand-ins for DynamoDB, refuse empty bytes. */
const EMPTY_BYTES: AttributeValue = Object.freeze({ BOOL: false });

function plainValue(value: AttributeValue): unknown {
  if ('S' in value) return value.S;
  if ('N' in value) return Number(value.N);
  if ('B' in value) return new Uint8Array(value.B.buffer, value.B.byteOffset, value.B.byteLength);
  return new Uint8Array(0);
}

function unknownIn(before: Item | null): Item {
  return Object.fromEntries(Object.entries(before ?? {}).filter(([name]) => !OWN.has(name)));
}
