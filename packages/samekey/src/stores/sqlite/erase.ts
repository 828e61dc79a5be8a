/** Erasing on SQLite: some records in one transaction, with their dead letters and their rows in the audit. */

import { checkErase, handRow } from '../../store/audit.ts';
import type { RecordId } from '../../core/record.ts';
import { scopeRanges } from '../../core/scope.ts';
import type { EraseRequest, EraseResult } from '../../store/store.ts';
import { exact, number } from '../sql/record-row.ts';
import type { Records } from './records.ts';
import type { Connection } from './sqlite-client.ts';
import * as sql from './statements.ts';
import type { Writer } from './writer.ts';

/** Records of one transaction at most: others wait for it. */
const ROWS_MAX = 500;

/** Makes the verb. */
export function createErase(
  connection: Connection,
  writer: Writer,
  records: Records,
): (request: EraseRequest) => Promise<EraseResult> {
  function erasable(ranges: ReturnType<typeof scopeRanges>, limit: number): RecordId[] {
    return ranges
      .flatMap(([from, to]) => connection.all(sql.SELECT_ERASABLE, from, to, limit))
      .slice(0, limit)
      .map((row) => ({ scope: String(row['scope']), key: String(row['key']) }));
  }

  /** One transaction; how many, and whether there may be more. */
  function eraseSome(
    request: EraseRequest,
    limit: number,
  ): { readonly erased: number; readonly isAll: boolean } {
    const ids = erasable(scopeRanges(exact(request.scope)), limit);
    const erased = records.erase(ids, (before, after) => handRow('erase', before, after, request));
    for (const { scope, key } of ids) connection.run(sql.DELETE_DEAD_OF, scope, key);
    return { erased, isAll: ids.length < limit };
  }

  return async (request) => {
    checkErase(request);
    let erased = 0;
    for (let isAll = false; !isAll && erased < request.limit; ) {
      const some = await writer.write(() => eraseSome(request, Math.min(ROWS_MAX, request.limit - erased)));
      erased += some.erased;
      isAll = some.isAll || some.erased === 0;
    }
    const left = await writer.read(() =>
      scopeRanges(request.scope).map(([from, to]) =>
        number(connection.get(sql.COUNT_NOT_ERASED, from, to)?.['n'] ?? 0),
      ),
    );
    return { erased, left: left.reduce((sum, n) => sum + n, 0) };
  };
}
