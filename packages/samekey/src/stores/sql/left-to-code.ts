/** `isLeftToCode` as a condition, of the row that the prefix names. */

import { EFFECT_RULE_CHANGED, PHASES_CHANGED } from '../../core/record.ts';

/** `row`: such as `r.`, or nothing where there is one table. */
export function isLeftToCodeSql(row: string): string {
  // Never NULL: it is written into a column, and negated.
  return `${row}state = 'unknown' AND ${row}reason IS NOT NULL AND ${row}reason IN ('${PHASES_CHANGED}', '${EFFECT_RULE_CHANGED}')`;
}
