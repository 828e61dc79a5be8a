/**
 * Records as fields of a hash: named as the columns of the SQL stores, for people who look with `redis-cli HGETALL`. What is null
 * has no field; bodies and inputs are bytes.
 */

import type { SamekeyRecord } from '../../core/record.ts';
import { RECORD_COLUMNS, recordValues, rowRecord } from '../sql/record-row.ts';
import type { Argument } from './redis-client.ts';

const BYTES = new Set(['input', 'response_body']);

/** A record, and what a compare-and-set on it must match. */
export interface Seen {
  readonly record: SamekeyRecord;
  readonly version: string;
  /** The server's time when it was read, in milliseconds. */
  readonly now: number;
}

/** Names and values of all fields that a record has, without its version. Throws `StoreError` for text that cannot be kept. */
export function fieldsOf(record: SamekeyRecord): Argument[] {
  const fields: Argument[] = [];
  for (const [i, value] of recordValues(record).entries()) {
    if (value === null) continue;
    fields.push(RECORD_COLUMNS[i] as string, value instanceof Uint8Array ? value : String(value));
  }
  return fields;
}

/** Of some columns: which get a value, and which lose theirs. */
export function changeOf(record: SamekeyRecord, columns: ReadonlySet<string>): readonly Argument[] {
  const set: Argument[] = [];
  const drop: string[] = [];
  for (const [i, value] of recordValues(record).entries()) {
    const name = RECORD_COLUMNS[i] as string;
    if (!columns.has(name)) continue;
    if (value === null) drop.push(name);
    else set.push(name, value instanceof Uint8Array ? value : String(value));
  }
  return [String(set.length), ...set, ...drop];
}

/** What HGETALL gave: a name, a value, and so on; null when there is nothing. */
export function seenOf(flat: readonly unknown[], now: number): Seen | null {
  if (flat.length === 0) return null;
  const row: Record<string, unknown> = {};
  for (const name of RECORD_COLUMNS) row[name] = null;
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const name = textOf(flat[i]);
    row[name] = BYTES.has(name) ? flat[i + 1] : textOf(flat[i + 1]);
  }
  return { record: rowRecord(row), version: String(row['version']), now };
}

/** What most questions need to know of a record, without what may be large. */
export const SMALL_COLUMNS: readonly string[] = RECORD_COLUMNS.filter(
  (name) => !BYTES.has(name) && name !== 'steps' && !name.startsWith('response_'),
);

/** What HMGET gave for {@link SMALL_COLUMNS}; null when there is nothing. */
export function smallOf(values: readonly unknown[]): SamekeyRecord | null {
  const row: Record<string, unknown> = {};
  for (const name of RECORD_COLUMNS) row[name] = null;
  for (const [i, name] of SMALL_COLUMNS.entries()) {
    const value = values[i];
    row[name] = value === null || value === undefined ? null : textOf(value);
  }
  return row['state'] === null ? null : rowRecord(row);
}

/** A reply as text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : String(value);
}
