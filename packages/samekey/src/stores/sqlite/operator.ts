/** What operators read, and erasing: some records in one transaction, with their dead letters and rows in the audit. */

import type { RecordId, State } from '../../core/record.ts';
import { scopeRanges } from '../../core/scope.ts';
import type { OperatorStore } from '../../store/store.ts';
import { exact, number } from '../sql/record-row.ts';
import { createErase } from '../verbs/erase.ts';
import { countsOf } from '../verbs/reads.ts';
import type { Records } from './records.ts';
import type { Connection } from './client.ts';
import * as sql from './statements.ts';
import type { Writer } from './writer.ts';

/** Records of one transaction at most: others wait for it. */
const ROWS_MAX = 500;

/** Makes the verbs. */
export function createOperator(
  connection: Connection,
  writer: Writer,
  records: Records,
): Pick<OperatorStore, 'list' | 'count' | 'erase'> {
  function erasable(scope: string, limit: number): RecordId[] {
    return scopeRanges(exact(scope))
      .flatMap(([from, to]) => connection.all(sql.SELECT_ERASABLE, from, to, limit))
      .slice(0, limit)
      .map((row) => ({ scope: String(row['scope']), key: String(row['key']) }));
  }

  return {
    list: (request) => writer.read(() => records.list(request)),
    async count() {
      const rows = await writer.read(() => [
        ...connection.all(sql.COUNT_OPEN),
        ...connection.all(sql.COUNT_EXPIRING),
      ]);
      // What is retryable is open and expires too: both count it whole.
      return countsOf(new Map(rows.map((row) => [String(row['state']) as State, number(row['n'])])));
    },
    erase: createErase({
      rowsMax: ROWS_MAX,
      round: (caller, limit, { decide, rowOf }) =>
        writer.write(() => {
          const ids = erasable(caller, limit);
          const results = records.apply(ids, decide, rowOf);
          for (const { scope, key } of ids) connection.run(sql.DELETE_DEAD_OF, scope, key);
          return { found: ids.length, erased: results.filter((result) => result === 'erased').length };
        }),
      left: (caller) =>
        writer.read(() => {
          const counts = scopeRanges(exact(caller)).map(([from, to]) =>
            number(connection.get(sql.COUNT_NOT_ERASED, from, to)?.['n'] ?? 0),
          );
          return counts.reduce((sum, n) => sum + n, 0);
        }),
    }),
  };
}
