/**
 * What operators read, and erasing, which reads a caller's scopes: on a connection of their own, because both may take
 * long.
 */

import type { RecordId, State } from '../../core/record.ts';
import { afterCaller, scopeRanges } from '../../core/scope.ts';
import type { ListRequest, OperatorStore } from '../../store/store.ts';
import { exact, number } from '../sql/record-row.ts';
import { createErase } from '../verbs/erase.ts';
import { countsOf, listLimit } from '../verbs/reads.ts';
import { isOneOf } from './conditions.ts';
import type { Link } from './link.ts';
import { bytesOf, decoded, numberOf, textOf } from './literals.ts';
import { dropDeadOf } from './message-rows.ts';
import { dropReferencesOf } from './references.ts';
import { apply, seenColumns, seenOf } from './records.ts';
import { quote, type Tables } from './tables.ts';

/** Records of one transaction at most. */
const ERASE_ROWS_MAX = 500;

/** Makes the verbs. */
export function createOperator(tables: Tables, reads: Link): Pick<OperatorStore, 'list' | 'count' | 'erase'> {
  const { records } = tables;

  return {
    async list(request) {
      if (request.states?.length === 0) return [];
      // The servers would walk back through all records for one of a caller.
      const by =
        request.caller !== undefined && request.key !== undefined ? ' FORCE INDEX (samekey_identity)' : '';
      const rows = await reads.alone((ask) =>
        ask(
          `SELECT ${seenColumns(tables)} FROM ${records} AS r${by} WHERE ${conditionsOf(request).join(' AND ')} ` +
            `ORDER BY r.created_at DESC, r.id DESC LIMIT ${numberOf(listLimit(request))}`,
        ),
      );
      return rows.map((row) => seenOf(row).record);
    },
    async count() {
      const rows = await reads.alone((ask) =>
        ask(`SELECT r.state, COUNT(*) FROM ${records} AS r GROUP BY r.state`),
      );
      return countsOf(rows.map((row) => [String(decoded(row[0])) as State, number(row[1])]));
    },
    erase: createErase({
      rowsMax: ERASE_ROWS_MAX,
      round: (scope, limit, { decide, rowOf }) =>
        reads.together(async (ask) => {
          const found = await ask(
            `SELECT r.scope, r.${quote('key')} FROM ${records} AS r WHERE ${heldBy(scope)} AND ${IDLE} LIMIT ${numberOf(limit)} FOR UPDATE SKIP LOCKED`,
          );
          const ids = found.map(
            (row): RecordId => ({ scope: String(decoded(row[0])), key: String(decoded(row[1])) }),
          );
          const results = await apply(ask, tables, ids, decide, { rowOf });
          await dropDeadOf(ask, tables, ids);
          await dropReferencesOf(
            ask,
            tables,
            ids.filter((_, i) => results[i] === 'erased'),
          );
          return { found: ids.length, erased: results.filter((result) => result === 'erased').length };
        }),
      async left(scope) {
        const rows = await reads.alone((ask) =>
          ask(`SELECT COUNT(*) FROM ${records} AS r WHERE ${heldBy(scope)}`),
        );
        return number(rows[0]?.[0] ?? 0);
      },
    }),
  };
}

/** What of a caller's records still holds something. */
function heldBy(scope: string): string {
  const ranges = scopeRanges(exact(scope)).map(
    ([from, to]) => `r.scope >= ${bytesOf(from)} AND r.scope < ${bytesOf(to)}`,
  );
  return `(${ranges.join(' OR ')}) AND SUBSTRING(r.claim_id, 1, 7) <> ${bytesOf('erased:')}`;
}

/** As `decideErase`. */
const IDLE =
  "(r.state IN ('completed', 'failed') OR r.state = 'retryable' AND r.intent_at IS NULL OR r.state = 'pending' AND r.attempt = 0)";

function conditionsOf({ states, operation, scope, caller, key, createdBefore }: ListRequest): string[] {
  const conditions = ['TRUE'];
  if (states !== undefined) conditions.push(`r.state IN (${states.map(textOf).join(', ')})`);
  if (operation !== undefined) conditions.push(isOneOf([operation]));
  if (scope !== undefined) conditions.push(`r.scope = ${bytesOf(scope)}`);
  if (caller !== undefined) {
    const [from, to] = [bytesOf(`${caller}|`), bytesOf(afterCaller(caller))];
    conditions.push(`(r.scope = ${bytesOf(caller)} OR r.scope >= ${from} AND r.scope < ${to})`);
  }
  if (key !== undefined) conditions.push(`r.${quote('key')} = ${bytesOf(key)}`);
  if (createdBefore !== undefined) conditions.push(`r.created_at < ${numberOf(createdBefore)}`);
  return conditions;
}
