/** What differs between databases when the doctor asks about rows: how times are kept, and how names and texts come. */

import type { OpenDatabase, Row } from '../database/opened.ts';

type Kind = OpenDatabase['address']['kind'];

/** A column that is a time, as milliseconds since 1970. */
export function msOf(kind: Kind, column: string): string {
  return kind === 'postgres' ? `(extract(epoch FROM ${column}) * 1000)::float8` : column;
}

/** An instant, to compare such a column with. */
export function instant(kind: Kind, ms: number): string {
  return kind === 'postgres' ? `to_timestamp(${ms / 1000})` : String(Math.round(ms));
}

/** A column whose name is a word of SQL in MySQL. */
export function nameOf(kind: Kind, column: string): string {
  return kind === 'mysql' ? `\`${column}\`` : column;
}

/** How many rows are so. */
export function countOf(condition: string): string {
  return `COALESCE(SUM(CASE WHEN ${condition} THEN 1 ELSE 0 END), 0)`;
}

/** A whole number, or null. */
export function numberAt(row: Row | undefined, name: string): number | null {
  const value = row?.[name];
  return value === null || value === undefined ? null : Number(value);
}

/** A text, which MySQL keeps as bytes. */
export function textAt(row: Row, name: string): string {
  const value = row[name];
  return value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : String(value);
}
