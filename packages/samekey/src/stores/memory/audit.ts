/** The audit in memory: a list with numbers, bounded; when it is full the oldest rows go. */

import {
  type AuditRequest,
  type AuditRow,
  auditLimit,
  type NewAuditRow,
  type PruneAuditRequest,
} from '../../store/audit.ts';

/** The audit of one store. */
interface MemoryAudit {
  add(rows: readonly NewAuditRow[], now: number): void;
  list(request: AuditRequest): readonly AuditRow[];
  prune(request: PruneAuditRequest, now: number): number;
}

/** What a process keeps at most: some ten megabytes. */
const ROWS_MAX = 50_000;

/** Makes it. */
export function createMemoryAudit(): MemoryAudit {
  let rows: AuditRow[] = [];
  let last = 0;

  return {
    add(added, now) {
      for (const row of added) {
        last += 1;
        rows.push(Object.freeze({ seq: String(last), at: now, ...named(row) }));
      }
      // Cut by a tenth, so that a full list is not copied with every row.
      if (rows.length > ROWS_MAX) rows = rows.slice(rows.length - ROWS_MAX * 0.9);
    },
    list(request) {
      const { scope, key, acts, before } = request;
      return rows
        .filter(
          (row) =>
            (scope === undefined || row.scope === scope) &&
            (key === undefined || row.key === key) &&
            (acts === undefined || acts.includes(row.act)) &&
            (before === undefined || Number(row.seq) < Number(before)),
        )
        .toReversed()
        .slice(0, auditLimit(request));
    },
    prune({ olderThanMs, acts, limit }, now) {
      const gone = rows
        .filter((row) => acts.includes(row.act) && row.at <= now - olderThanMs)
        .slice(0, Math.max(0, limit));
      const set = new Set(gone);
      rows = rows.filter((row) => !set.has(row));
      return gone.length;
    },
  };
}

/** The columns and no others, whatever object was given. */
function named({ scope, key, operation, attempt, act, from, to, reason, actor }: NewAuditRow): NewAuditRow {
  return { scope, key, operation, attempt, act, from, to, reason, actor };
}
