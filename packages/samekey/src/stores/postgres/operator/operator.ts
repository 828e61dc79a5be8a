/** What operators read, and erasing: on connections of their own, because both may take long. */

import type { State } from '../../../core/record.ts';
import type { OperatorStore } from '../../../store/store.ts';
import { number } from '../../sql/record-row.ts';
import { countsOf, listLimit } from '../../verbs/reads.ts';
import type { Link } from '../link.ts';
import { seenOf } from '../seen.ts';
import type { Tables } from '../tables.ts';
import { countStatement, listStatement } from '../upkeep-statements.ts';
import { createErase } from './erase.ts';

/** Makes the verbs. */
export function createOperator(
  tables: Tables,
  links: { readonly reads: Link; readonly erasing: Link },
): Pick<OperatorStore, 'list' | 'count' | 'erase'> {
  const { reads, erasing } = links;

  return {
    async list(request) {
      const { statement, values } = listStatement(tables, request, listLimit(request));
      return (await reads.ask(statement, values)).map((row) => seenOf(row).record);
    },
    async count() {
      const rows = await reads.ask(countStatement(tables), []);
      return countsOf(rows.map((row) => [String(row[0]) as State, number(row[1])]));
    },
    erase: createErase(tables, erasing),
  };
}
