/**
 * Rows of the audit in stores that speak SQL. Text for people is kept as far as SQL can; what identifies is refused if
 * not.
 */

import type { AuditAct, AuditRow, NewAuditRow } from '../../store/audit.ts';
import type { State } from '../../core/record.ts';
import { exact, number, shown } from './record-row.ts';

/** The columns that a new row is given, in the order of {@link auditValues}. */
export const AUDIT_COLUMNS: readonly string[] = [
  'scope',
  'key',
  'operation',
  'attempt',
  'act',
  'from_state',
  'to_state',
  'reason',
  'actor',
];

/** The values of a new row. Throws `StoreError` for identifying text that SQL would alter. */
export function auditValues(row: NewAuditRow): (string | number | null)[] {
  return [
    exact(row.scope),
    exact(row.key),
    shown(row.operation),
    row.attempt,
    row.act,
    row.from,
    row.to,
    shown(row.reason),
    shown(row.actor),
  ];
}

/** The row in `seq`, `at` in milliseconds, and {@link AUDIT_COLUMNS}. */
export function auditRowOf(values: readonly unknown[]): AuditRow {
  const [seq, at, scope, key, operation, attempt, act, from, to, reason, actor] = values;
  return {
    seq: String(seq),
    at: number(at),
    scope: String(scope),
    key: String(key),
    operation: textOrNull(operation),
    attempt: number(attempt),
    act: String(act) as AuditAct,
    from: textOrNull(from) as State | null,
    to: textOrNull(to) as State | null,
    reason: textOrNull(reason),
    actor: textOrNull(actor),
  };
}

function textOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : (value as string);
}
