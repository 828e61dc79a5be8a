/** What operators read, and erasing: on connections of their own, because both may take long. */

import type { RecordId, State } from '../../../core/record.ts';
import { afterCaller, scopeRanges } from '../../../core/scope.ts';
import type { ListRequest, OperatorStore } from '../../../store/store.ts';
import { exact, number } from '../../sql/record-row.ts';
import { createErase } from '../../verbs/erase.ts';
import { countsOf, listLimit } from '../../verbs/reads.ts';
import type { Link } from '../link.ts';
import { textArray } from '../parameters.ts';
import type { SqlValue } from '../client.ts';
import { statement } from '../statements.ts';
import type { Layout } from './layout.ts';
import { type Records, seenOf } from './records.ts';
import { type Bound, seenColumns } from './statements.ts';

/** Records that one round of an erasure looks for; each is emptied in a transaction of its own. */
const ERASE_ROWS_MAX = 500;

/** Makes the verbs. */
export function createOperator(
  records: Records,
  reads: Link,
): Pick<OperatorStore, 'list' | 'count' | 'erase'> {
  const { layout } = records;
  const held = `(r.scope >= $1::text AND r.scope < $2::text OR r.scope >= $3::text AND r.scope < $4::text) AND left(r.claim_id, 7) <> 'erased:'`;
  const idle = statement(
    'plain_idle',
    `SELECT r.scope, r.key FROM ${layout.records} r WHERE ${held} AND (r.state IN ('completed', 'failed')
  OR r.state = 'retryable' AND r.intent_at IS NULL OR r.state = 'pending' AND r.attempt = 0) LIMIT $5::bigint`,
  );
  const countHeld = statement('plain_held', `SELECT count(*) FROM ${layout.records} r WHERE ${held}`);
  const countStates = statement(
    'plain_count',
    `SELECT r.state, count(*) FROM ${layout.records} r GROUP BY r.state`,
  );

  return {
    async list(request) {
      if (request.states?.length === 0) return [];
      const { statement: asked, values } = listStatement(layout, request);
      return (await reads.ask(asked, values)).map((row) => seenOf(row).record);
    },
    async count() {
      const rows = await reads.ask(countStates, []);
      return countsOf(rows.map((row) => [String(row[0]) as State, number(row[1])]));
    },
    erase: createErase({
      rowsMax: ERASE_ROWS_MAX,
      async round(scope, limit, { decide, rowOf }) {
        const found = await reads.ask(idle, [...rangesOf(scope), String(limit)]);
        let erased = 0;
        for (const [foundScope, key] of found) {
          const id: RecordId = { scope: String(foundScope), key: String(key) };
          const result = await reads.together((ask) => records.apply(ask, id, decide, { rowOf }));
          if (result === 'erased') erased += 1;
        }
        return { found: found.length, erased };
      },
      async left(scope) {
        const [left] = await reads.ask(countHeld, rangesOf(scope));
        return number(left?.[0] ?? 0);
      },
    }),
  };
}

function rangesOf(scope: string): readonly string[] {
  return scopeRanges(exact(scope)).flat();
}

/** Newest first, by the index on created_at. */
function listStatement(layout: Layout, request: ListRequest): Bound {
  const { states, operation, scope, caller, key, createdBefore } = request;
  const values: SqlValue[] = [];
  const parameter = (value: SqlValue, type: string): string => `$${values.push(value)}::${type}`;
  const conditions = ['true'];
  if (states !== undefined) conditions.push(`r.state = ANY (${parameter(textArray(states), 'text[]')})`);
  if (operation !== undefined) conditions.push(`r.operation = ${parameter(operation, 'text')}`);
  if (scope !== undefined) conditions.push(`r.scope = ${parameter(scope, 'text')}`);
  if (caller !== undefined) {
    const [same, from, to] = [caller, `${caller}|`, afterCaller(caller)].map((text) =>
      parameter(text, 'text'),
    );
    conditions.push(`(r.scope = ${same} OR r.scope >= ${from} AND r.scope < ${to})`);
  }
  if (key !== undefined) conditions.push(`r.key = ${parameter(key, 'text')}`);
  if (createdBefore !== undefined) {
    conditions.push(`r.created_at < ${parameter(String(createdBefore), 'bigint')}`);
  }
  const text = `SELECT ${seenColumns(layout)} FROM ${layout.records} r WHERE ${conditions.join(' AND ')} ORDER BY r.created_at DESC LIMIT ${parameter(String(listLimit(request)), 'bigint')}`;
  return { statement: statement('plain_list', text), values };
}
