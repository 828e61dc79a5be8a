/**
 * What operators read, and erasing, which reads a caller's scopes: on a connection of their own, because both may take
 * long.
 */

import { checkErase, handRow } from '../../store/audit.ts';
import { decideErase } from '../../store/machine/index.ts';
import { type RecordId, STATES, type State } from '../../core/record.ts';
import { afterCaller, scopeRanges } from '../../core/scope.ts';
import type { ListRequest, OperatorStore } from '../../store/store.ts';
import { exact, number } from '../sql/record-row.ts';
import { isOneOf } from './upkeep.ts';
import type { Link } from './link.ts';
import { bytesOf, decoded, numberOf, textOf } from './literals.ts';
import { dropDeadOf } from './message-rows.ts';
import { apply, seenColumns, seenOf } from './records.ts';
import { quote, type Tables } from './tables.ts';

/** As `ListRequest` says. */
const LIST_LIMIT = 100;
const LIST_LIMIT_MAX = 1_000;
/** Records of one transaction at most. */
const ERASE_ROWS_MAX = 500;

/** Makes the verbs. */
export function createReading(tables: Tables, reads: Link): Pick<OperatorStore, 'list' | 'count' | 'erase'> {
  const { records } = tables;

  return {
    async list(request) {
      if (request.states?.length === 0) return [];
      const limit = Math.min(LIST_LIMIT_MAX, Math.max(1, request.limit ?? LIST_LIMIT));
      const rows = await reads.alone((ask) =>
        ask(
          `SELECT ${seenColumns(tables)} FROM ${records} AS r WHERE ${conditionsOf(request).join(' AND ')} ` +
            `ORDER BY r.created_at DESC, r.id DESC LIMIT ${numberOf(limit)}`,
        ),
      );
      return rows.map((row) => seenOf(row).record);
    },
    async count() {
      const counts = Object.fromEntries(STATES.map((state) => [state, 0])) as Record<State, number>;
      const rows = await reads.alone((ask) =>
        ask(`SELECT r.state, COUNT(*) FROM ${records} AS r GROUP BY r.state`),
      );
      for (const row of rows) counts[String(decoded(row[0])) as State] = number(row[1]);
      return counts;
    },
    async erase(request) {
      checkErase(request);
      const ranges = scopeRanges(exact(request.scope)).map(
        ([from, to]) => `r.scope >= ${bytesOf(from)} AND r.scope < ${bytesOf(to)}`,
      );
      const held = `(${ranges.join(' OR ')}) AND SUBSTRING(r.claim_id, 1, 7) <> ${bytesOf('erased:')}`;
      let erased = 0;
      for (let some = ERASE_ROWS_MAX; some > 0 && erased < request.limit; erased += some) {
        const rows = Math.min(ERASE_ROWS_MAX, request.limit - erased);
        some = await reads.together(async (ask) => {
          const found = await ask(
            `SELECT r.scope, r.${quote('key')} FROM ${records} AS r WHERE ${held} AND ${IDLE} LIMIT ${numberOf(rows)} FOR UPDATE SKIP LOCKED`,
          );
          const ids = found.map(
            ([scope, key]): RecordId => ({ scope: String(decoded(scope)), key: String(decoded(key)) }),
          );
          const results = await apply(
            ask,
            tables,
            ids,
            (record, id: RecordId, view) =>
              record === null ? { write: undefined, result: 'already' } : decideErase(record, id, view),
            { rowOf: (before, after) => handRow('erase', before, after, request) },
          );
          await dropDeadOf(ask, tables, ids);
          return results.filter((result) => result === 'erased').length;
        });
      }
      const left = await reads.alone((ask) => ask(`SELECT COUNT(*) FROM ${records} AS r WHERE ${held}`));
      return { erased, left: number(left[0]?.[0] ?? 0) };
    },
  };
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
