/**
 * Upkeep and the operator's hand: candidates are read by a narrow index, then each is read again by its key, decided,
 * and written by compare-and-set. Two that sweep at once never get the same record: one of them writes.
 */

import {
  type AuditAct,
  type ByHand,
  checkByHand,
  giveUpRow,
  handRow,
  type NewAuditRow,
} from '../../../store/audit.ts';
import { type Counters, takeOff } from '../../../store/counters.ts';
import { StoreError } from '../../../core/errors.ts';
import { settlements } from '../../../store/ends.ts';
import {
  type Decision,
  decideForget,
  decidePostpone,
  decideReopen,
  decideSettle,
  decideSweep,
  decideTakeUnknown,
  UNKNOWN_MAX_MS,
  type View,
} from '../../../store/machine/index.ts';
import { DOUBLED_MAX, isPurgeable, type RecordId, type SamekeyRecord } from '../../../core/record.ts';
import type { ServerTime } from '../../../store/time/server-time.ts';
import { reapedOf } from '../../../store/reaped.ts';
import type { HandResult, LifecycleStore, OperatorStore, Swept } from '../../../store/store.ts';
import { isLeftToCodeSql } from '../../sql/left-to-code.ts';
import { checkIds, exact } from '../../sql/record-row.ts';
import type { Link } from '../link.ts';
import { textArray } from '../parameters.ts';
import type { SqlValue, Statement } from '../postgres-client.ts';
import { statement } from '../statements.ts';
import type { Layout } from './layout.ts';
import { BUSY, type Decide, type Records, seenOf } from './records.ts';
import { seenColumns } from './statements.ts';

/** An operator's write tries this often, with pauses that grow to 100 ms. */
const HAND_TRIES_MAX = 20;
/** Records of each state that one reap looks at; the next one goes on. */
const REAP_ROWS_MAX = 1_000;

/** The verbs of upkeep, and the operator's on single records. */
type Upkeep = LifecycleStore & Pick<OperatorStore, 'settle' | 'reopen' | 'forget'>;

/** Makes them on the connections of upkeep. */
export function createUpkeep(records: Records, upkeep: Link, counters: Counters, time: ServerTime): Upkeep {
  const { layout } = records;
  const { over, reapable, unknown, due } = candidateStatements(layout);

  async function ids(asked: Statement, values: readonly SqlValue[]): Promise<RecordId[]> {
    const rows = await upkeep.ask(asked, values);
    return rows.map(([scope, key]) => ({ scope: String(scope), key: String(key) }));
  }

  /** Writes and gives those of the candidates that the decision takes, in their order. */
  async function taken<Result>(
    candidates: readonly RecordId[],
    decide: (record: SamekeyRecord, view: View) => Decision<Result> | undefined,
  ): Promise<Result[]> {
    const results = await Promise.all(
      candidates.map((id) =>
        records.apply<RecordId, Result | undefined>(upkeep.ask, id, (record, _, view) => {
          const decision = record === null ? undefined : decide(record, view);
          return decision ?? { write: undefined, result: undefined };
        }),
      ),
    );
    return results.filter(
      (result): result is Awaited<Result> => result !== undefined && result !== BUSY,
    ) as Result[];
  }

  async function retried<Request extends RecordId>(
    request: Request,
    decide: Decide<Request, HandResult>,
    rowOf: RowOf<Request>,
  ): Promise<HandResult> {
    for (let tries = 1; tries <= HAND_TRIES_MAX; tries += 1) {
      const result = await upkeep.together((ask) =>
        records.apply(ask, request, decide, { lock: 'FOR UPDATE', rowOf }),
      );
      if (result.kind !== 'busy') return result;
      await new Promise((resolve) => void setTimeout(resolve, Math.min(100, 5 * tries)));
    }
    throw new StoreError('A record is held by another transaction: let it end, or end it, and try again.', {
      applied: 'no',
    });
  }

  /** One after the other; what was done stays done when a later one fails. */
  async function inTurn<Request extends RecordId>(
    requests: readonly Request[],
    decide: Decide<Request, HandResult>,
    rowOf: RowOf<Request>,
  ): Promise<readonly HandResult[]> {
    checkIds(requests);
    const results: HandResult[] = [];
    for (const request of requests) {
      try {
        results.push(await retried(request, decide, rowOf));
      } catch (error) {
        if (results.length === 0 || !(error instanceof StoreError)) throw error;
        throw new StoreError(error.message, { applied: 'unknown', cause: error.cause });
      }
    }
    return results;
  }

  async function byHand<Request extends RecordId & ByHand>(
    act: AuditAct,
    requests: readonly Request[],
    decide: Decide<Request, HandResult>,
  ): Promise<readonly HandResult[]> {
    checkByHand(requests);
    const deleted = new Set<Request>();
    const results = await inTurn(requests, decide, (before, after, request) => {
      if (after === null) deleted.add(request);
      return handRow(act, before, after, request);
    });
    const gone = requests.filter((request, i) => deleted.has(request) && results[i]?.kind === 'applied');
    await takeOff(
      counters,
      gone.map(({ scope }) => [scope, 1]),
    );
    return results;
  }

  return {
    async sweep(limit, options = {}) {
      const { unknownMaxMs = UNKNOWN_MAX_MS } = options;
      await time.look();
      const now = await records.time(upkeep.ask);
      const candidates: RecordId[] = [];
      for (const [state, until] of [
        ['in_progress', now],
        ['pending', now],
        ['unknown', now - unknownMaxMs],
      ] as const) {
        const left = limit - candidates.length;
        if (left > 0) candidates.push(...(await ids(over, [state, String(until), String(left)])));
      }
      return taken<Swept>(candidates, (record, view) => decideSweep(record, view, options));
    },

    async due({ operations, limit, after, backoffMinMs = 0, backoffMaxMs = backoffMinMs }) {
      if (operations.length === 0 || limit < 1) return [];
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
    },

    async takeUnknown(request) {
      const { operations, limit } = request;
      if (limit < 1 || operations?.length === 0) return [];
      const now = String(await records.time(upkeep.ask));
      const names = operations === null ? null : textArray(operations.map(exact));
      const candidates = await ids(unknown, [now, names, String(limit)]);
      const isAsked = operations === null ? null : new Set(operations);
      return taken<SamekeyRecord>(candidates, (record, view) => {
        const write =
          isAsked?.has(record.operation) === false ? undefined : decideTakeUnknown(record, request, view);
        return write && { write, result: write };
      });
    },

    async reap(limit) {
      await time.look();
      const scopes: string[] = [];
      const now = String(await records.time(upkeep.ask));
      for (const state of ['completed', 'failed', 'retryable']) {
        const left = Math.min(REAP_ROWS_MAX, limit - scopes.length);
        if (left < 1) break;
        const candidates = await ids(reapable, [state, now, String(left)]);
        const gone = await taken(candidates, (record, view) =>
          isPurgeable(record, view.now) ? { write: null, result: record.scope } : undefined,
        );
        scopes.push(...gone);
      }
      const reaped = reapedOf(scopes);
      await takeOff(counters, reaped.byScope);
      return reaped;
    },

    postpone: (requests) => inTurn(requests, decidePostpone, giveUpRow),
    settle: async (requests) => byHand('settle', settlements(requests), decideSettle),
    reopen: (requests) => byHand('reopen', requests, decideReopen),
    forget: (requests) => byHand('forget', requests, decideForget),
  };
}

type RowOf<Request> = (
  before: SamekeyRecord,
  after: SamekeyRecord | null,
  request: Request,
) => NewAuditRow | undefined;

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
