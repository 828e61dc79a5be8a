/** Rows of the audit, a line each. Keys and callers as hashes, unless they were asked for. */

import { hashCaller, hashKey } from 'samekey';
import { type AuditRow, callerOf } from 'samekey/operator';
import { iso } from './duration.ts';
import { table } from './print.ts';

/** A line for each row. */
export function auditLines(rows: readonly AuditRow[], showKeys: boolean): readonly string[] {
  return table(
    ['SEQ', 'WHEN', 'ACT', 'CHANGE', 'BY', 'OPERATION', 'KEY', 'WHY'],
    rows.map((row) => [
      row.seq,
      iso(row.at),
      row.act,
      row.from === null && row.to === null ? '' : `${row.from ?? '–'} → ${row.to ?? 'gone'}`,
      row.actor ?? '',
      row.operation ?? '',
      showKeys ? row.key : `#${hashKey(row)}`,
      row.reason ?? '',
    ]),
  );
}

/** A row for programs. */
export function forPrograms(row: AuditRow, showKeys: boolean): object {
  const { scope, key, ...rest } = row;
  return {
    ...rest,
    keyHash: hashKey(row),
    callerHash: hashCaller(scope),
    ...(showKeys ? { key, scope, caller: callerOf(scope) } : {}),
  };
}
