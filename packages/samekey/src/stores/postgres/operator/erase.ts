/**
 * Erasing on PostgreSQL: batches of one statement each, which empties records, deletes their dead letters and adds
 * their rows to the audit. Records that somebody holds are left for the next call.
 */

import { checkErase } from '../../../store/audit.ts';
import { scopeRanges } from '../../../core/scope.ts';
import type { EraseRequest, EraseResult } from '../../../store/store.ts';
import { exact, number, shown } from '../../sql/record-row.ts';
import { countNotErasedStatement, eraseStatement } from './erase-statements.ts';
import type { Link } from '../link.ts';
import { textArray } from '../parameters.ts';
import type { Tables } from '../tables.ts';

/** Records of one statement at most. */
const ROWS_MAX = 1_000;
/** A call ends after this many statements; the next one goes on. */
const STATEMENTS_MAX = 100;

/** Makes the verb; `link` is not one that requests wait for. */
export function createErase(tables: Tables, { ask }: Link): (request: EraseRequest) => Promise<EraseResult> {
  const erase = eraseStatement(tables);
  const count = countNotErasedStatement(tables);

  return async (request) => {
    checkErase(request);
    const ranges = scopeRanges(exact(request.scope));
    const bounds = [textArray(ranges.map(([from]) => from)), textArray(ranges.map(([, to]) => to))];
    let erased = 0;
    for (let i = 0; i < STATEMENTS_MAX && erased < request.limit; i += 1) {
      const rows = Math.min(ROWS_MAX, request.limit - erased);
      const values = [...bounds, String(rows), shown(request.reason), shown(request.actor)];
      const done = number((await ask(erase, values))[0]?.[0] ?? 0);
      erased += done;
      if (done < rows) break;
    }
    const [left] = await ask(count, bounds);
    return { erased, left: number(left?.[0] ?? 0) };
  };
}
