/** Conditions on a record's row, which is called `r`. */

import type { RecordId } from '../../core/record.ts';
import { exact } from '../sql/record-row.ts';
import { bytesOf } from './literals.ts';
import { quote } from './tables.ts';

/** The row of an id. */
export function idCondition({ scope, key }: RecordId): string {
  return `r.scope = ${bytesOf(scope)} AND r.${quote('key')} = ${bytesOf(key)}`;
}

/** Byte by byte: the column's collation would take `a ` for `a`. */
export function isOneOf(operations: readonly string[]): string {
  return `CAST(r.operation AS BINARY) IN (${operations.map((name) => bytesOf(exact(name))).join(', ')})`;
}
