/**
 * A record as it was read, with what a write needs to change it only if it still is that: the version of its row, and
 * the time of the reading.
 */

import { idText, type SamekeyRecord } from '../../core/record.ts';
import { number, RECORD_COLUMNS, rowRecord } from '../sql/record-row.ts';
import { fieldsOf } from './byte-columns.ts';
import type { SqlRow } from './client.ts';

/** A record as it was read. */
export interface Seen {
  readonly record: SamekeyRecord;
  /** Which version of the row: the transaction that wrote it. */
  readonly version: string;
  /** The time of the reading, in milliseconds. */
  readonly now: number;
  /** The server's clock, where it was ahead of that. */
  readonly laterNow: number;
}

/** The id that the first two columns hold, as `idText` writes it. */
export function rowIdText(row: SqlRow): string {
  return idText({ scope: String(row[0]), key: String(row[1]) });
}

/** A row of `seenColumns`. */
export function seenOf(row: SqlRow): Seen {
  const record = rowRecord(fieldsOf(RECORD_COLUMNS, row, 3));
  return { now: number(row[0]), laterNow: number(row[1]), version: String(row[2]), record };
}
