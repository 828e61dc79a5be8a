/** The audit on PostgreSQL. Rows of acts by hand are written by the statement of the act itself (`statements.ts`). */

import { auditLimit, type AuditStore, checkNotes } from '../../../store/audit.ts';
import { auditRowOf, auditValues } from '../../sql/audit-row.ts';
import { number } from '../../sql/record-row.ts';
import * as sql from './audit-statements.ts';
import type { Link } from '../link.ts';
import { inputValues, textArray } from '../parameters.ts';
import { arityOf } from '../records.ts';
import type { Tables } from '../tables.ts';

/** Rows of one statement at most: some 10 ms. */
const PRUNE_ROWS_MAX = 1_000;
/** A call ends after this many statements; the next one goes on. */
const PRUNE_STATEMENTS_MAX = 100;

/** Makes it. `reads`: the connection for reads that may take long. */
export function createAudit(
  tables: Tables,
  links: { readonly upkeep: Link; readonly reads: Link },
): AuditStore {
  const { upkeep, reads } = links;
  const notes = { one: sql.noteStatement(tables, 'one'), many: sql.noteStatement(tables, 'many') };
  const prune = sql.pruneAuditStatement(tables);

  return {
    async audit(request) {
      const { statement, values } = sql.listAuditStatement(tables, request, auditLimit(request));
      return (await reads.ask(statement, values)).map(auditRowOf);
    },
    async note(rows) {
      checkNotes(rows);
      if (rows.length === 0) return;
      const arity = arityOf(rows);
      await upkeep.ask(notes[arity], inputValues(rows.map(auditValues), sql.AUDIT_INPUT.length, arity));
    },
    async pruneAudit({ olderThanMs, acts, limit }) {
      let pruned = 0;
      for (let i = 0; i < PRUNE_STATEMENTS_MAX && pruned < limit && acts.length > 0; i += 1) {
        const rows = Math.min(PRUNE_ROWS_MAX, limit - pruned);
        const values = [textArray(acts), String(olderThanMs), String(rows)];
        const gone = number((await upkeep.ask(prune, values))[0]?.[0] ?? 0);
        pruned += gone;
        if (gone < rows) break;
      }
      return pruned;
    },
  };
}
