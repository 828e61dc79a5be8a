/**
 * Upkeep and the operator's hand: candidates are read by a narrow index, then each is read again by its key, decided,
 * and written by compare-and-set. Two that sweep at once never get the same record: one of them writes.
 */

import { DOUBLED_MAX, type RecordId } from '../../../core/record.ts';
import type { Counters } from '../../../store/counters.ts';
import type { LifecycleStore, OperatorStore } from '../../../store/store.ts';
import type { ServerTime } from '../../../store/time/server-time.ts';
import { isLeftToCodeSql } from '../../sql/left-to-code.ts';
import { checkIds, exact } from '../../sql/record-row.ts';
import { takeBy } from '../../verbs/change.ts';
import { createHand } from '../../verbs/by-hand.ts';
import {
  createDue,
  createReap,
  createSweep,
  createTakeUnknown,
  overByState,
  reapedByState,
  takePurgeable,
} from '../../verbs/upkeep.ts';
import type { Link } from '../link.ts';
import { textArray } from '../parameters.ts';
import type { SqlValue, Statement } from '../client.ts';
import { statement } from '../statements.ts';
import type { Layout } from './layout.ts';
import { type Records, seenOf } from './records.ts';
import { seenColumns } from './statements.ts';

/** Records of each state that one reap looks at; the next one goes on. */
const REAP_ROWS_MAX = 1_000;

/** The verbs of upkeep, and the operator's on single records. */
type Upkeep = LifecycleStore & Pick<OperatorStore, 'settle' | 'reopen' | 'forget'>;

/** Makes them on the connections of upkeep. */
export function createUpkeep(records: Records, upkeep: Link, counters: Counters, time: ServerTime): Upkeep {
  const { layout } = records;
  const { over, reapable, unknown, due } = candidateStatements(layout);
  const take = takeBy((requests, decide) =>
    Promise.all(requests.map((request) => records.apply(upkeep.ask, request, decide))),
  );

  async function ids(asked: Statement, values: readonly SqlValue[]): Promise<RecordId[]> {
    const rows = await upkeep.ask(asked, values);
    return rows.map(([scope, key]) => ({ scope: String(scope), key: String(key) }));
  }

  const look = (): Promise<unknown> => time.look();

  return {
    sweep: createSweep({
      take,
      look,
      async over(limit, unknownMaxMs) {
        const now = await records.time(upkeep.ask);
        return overByState(limit, unknownMaxMs, (state, overMs, left) =>
          ids(over, [state, String(now - overMs), String(left)]),
        );
      },
    }),
    due: createDue(async ({ operations, limit, after, backoffMinMs, backoffMaxMs }) => {
      const now = String(await records.time(upkeep.ask));
      const names = textArray(operations.map(exact));
      const rows = await upkeep.ask(due, [
        names,
        now,
        String(backoffMinMs),
        String(backoffMaxMs),
        String(limit),
        after ? String(after.createdAt) : null,
        after?.scope ?? null,
        after?.key ?? null,
      ]);
      return rows.map((row) => seenOf(row).record);
    }),
    takeUnknown: createTakeUnknown(take, async (operations, limit) => {
      const now = String(await records.time(upkeep.ask));
      const names = operations === null ? null : textArray(operations.map(exact));
      return ids(unknown, [now, names, String(limit)]);
    }),
    reap: createReap({
      look,
      async reap(limit) {
        const now = String(await records.time(upkeep.ask));
        return reapedByState(limit, async (state, left) =>
          takePurgeable(take, await ids(reapable, [state, now, String(Math.min(REAP_ROWS_MAX, left))])),
        );
      },
      counters,
    }),
    ...createHand({
      // One after the other, each in a transaction of its own with its row of the audit.
      atOnceMax: 1,
      change: (requests, decide, rowOf) =>
        Promise.all(
          requests.map((request) =>
            upkeep.together((ask) => records.apply(ask, request, decide, { lock: 'FOR UPDATE', rowOf })),
          ),
        ),
      checkIds,
      counters,
    }),
  };
}

function candidateStatements(
  layout: Layout,
): Readonly<Record<'over' | 'reapable' | 'unknown' | 'due', Statement>> {
  const { records } = layout;
  const ids = `SELECT r.scope, r.key FROM ${records} r`;
  const pause = `CASE WHEN r.attempt < 2 OR r.proof = 'settled' THEN 0
    ELSE least($4::bigint, $3::bigint * power(2, least(r.attempt - 2, ${DOUBLED_MAX}))::bigint) END`;
  return {
    over: statement(
      'plain_over',
      `${ids} WHERE r.state = $1::text AND r.due_at <= $2::bigint ORDER BY r.due_at LIMIT $3::bigint`,
    ),
    reapable: statement(
      'plain_reapable',
      `${ids} WHERE r.state = $1::text AND r.due_at <= $2::bigint AND (r.state <> 'retryable' OR r.intent_at IS NULL)
ORDER BY r.due_at LIMIT $3::bigint`,
    ),
    unknown: statement(
      'plain_unknown',
      `${ids} WHERE r.reconcile_after <= $1::bigint AND r.state = 'unknown' AND ($2::text[] IS NULL OR r.operation = ANY ($2::text[]))
ORDER BY r.reconcile_after LIMIT $3::bigint`,
    ),
    due: statement(
      'plain_due_work',
      `SELECT ${seenColumns(layout)} FROM ${records} r WHERE r.state IN ('pending', 'retryable', 'unknown') AND r.input IS NOT NULL
AND r.fingerprint_label IS NOT NULL AND r.operation = ANY ($1::text[]) AND (
  r.state = 'pending' AND r.attempt = 0 AND r.locked_until > $2::bigint OR
  (r.state = 'retryable' AND (r.intent_at IS NOT NULL OR r.expires_at > $2::bigint) OR ${isLeftToCodeSql('r.')})
  AND r.locked_until + ${pause} <= $2::bigint)
AND ($6::bigint IS NULL OR (r.created_at, r.scope, r.key) > ($6::bigint, $7::text, $8::text))
ORDER BY r.created_at, r.scope, r.key LIMIT $5::bigint`,
    ),
  };
}
