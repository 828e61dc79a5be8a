/**
 * Upkeep and the operator's hand: candidates are read without locks by a narrow index, then locked by their ids, looked
 * at again, and written. What somebody else holds is skipped; two that sweep at once never get the same record.
 */

import {
  type AuditAct,
  type ByHand,
  checkByHand,
  giveUpRow,
  handRow,
  type NewAuditRow,
} from '../../store/audit.ts';
import { type Counters, takeOff } from '../../store/counters.ts';
import { StoreError } from '../../core/errors.ts';
import { settlements } from '../../store/ends.ts';
import {
  type Decision,
  decideForget,
  decidePostpone,
  decideReopen,
  decideSettle,
  decideSweep,
  decideTakeUnknown,
  UNKNOWN_MAX_MS,
} from '../../store/machine/index.ts';
import { DOUBLED_MAX, idText, type RecordId, type SamekeyRecord } from '../../core/record.ts';
import type { ServerTime } from '../../store/time/server-time.ts';
import { reapedOf } from '../../store/reaped.ts';
import type { DueRequest, HandResult, LifecycleStore, OperatorStore, Swept } from '../../store/store.ts';
import { exact } from '../sql/record-row.ts';
import { isLeftToCodeSql } from '../sql/left-to-code.ts';
import type { Link } from './link.ts';
import { bytesOf, decoded, numberOf } from './literals.ts';
import type { Ask } from './mysql-client.ts';
import { endHolders, HELD_MAX_MS } from './holders.ts';
import { apply, BUSY, checkIds, type Decide, read, type RowOf, seenColumns, seenOf } from './records.ts';
import { quote, type Tables } from './tables.ts';

/** An operator's write tries this often, with pauses that grow to 100 ms. */
const HAND_TRIES_MAX = 20;

/** The verbs of upkeep, and the operator's on single records. */
type Upkeep = LifecycleStore & Pick<OperatorStore, 'settle' | 'reopen' | 'forget'>;

/** Makes them on the connection of upkeep. */
export function createUpkeep(tables: Tables, upkeep: Link, counters: Counters, time: ServerTime): Upkeep {
  const { records } = tables;
  const ids = `SELECT r.scope, r.${quote('key')} FROM ${records} AS r`;

  async function retried<Request extends RecordId>(
    requests: readonly Request[],
    decide: Decide<Request, HandResult>,
    rowOf: RowOf<Request>,
  ): Promise<readonly HandResult[]> {
    checkIds(requests);
    const results = new Map<number, HandResult>();
    for (let tries = 0; results.size < requests.length; tries += 1) {
      if (tries > 0) await new Promise((resolve) => void setTimeout(resolve, Math.min(100, 5 * tries)));
      if (tries === HAND_TRIES_MAX) {
        throw new StoreError(
          'MySQL record is held by another transaction: let it end, or end it, and try again.',
          {
            applied: results.size === 0 ? 'no' : 'unknown',
          },
        );
      }
      const open = [...requests.entries()].filter(([i]) => !results.has(i));
      const done = await upkeep.together((ask) =>
        apply(
          ask,
          tables,
          open.map(([, request]) => request),
          decide,
          { rowOf },
        ),
      );
      for (const [at, [i]] of open.entries()) {
        const result = done[at];
        if (result !== undefined && result.kind !== 'busy') results.set(i, result);
      }
    }
    return requests.map((_, i) => results.get(i) as HandResult);
  }

  async function byHand<Request extends RecordId & ByHand>(
    act: AuditAct,
    requests: readonly Request[],
    decide: Decide<Request, HandResult>,
  ): Promise<readonly HandResult[]> {
    checkByHand(requests);
    const deleted = new Set<Request>();
    const rowOf = (before: SamekeyRecord, after: SamekeyRecord | null, request: Request): NewAuditRow => {
      if (after === null) deleted.add(request);
      return handRow(act, before, after, request);
    };
    const results = await retried(requests, decide, rowOf);
    const gone = requests.filter((request, i) => deleted.has(request) && results[i]?.kind === 'applied');
    await takeOff(
      counters,
      gone.map(({ scope }) => [scope, 1]),
    );
    return results;
  }

  async function found(ask: Ask, where: string, limit: number): Promise<RecordId[]> {
    if (limit < 1) return [];
    const rows = await ask(`${ids} WHERE ${where} LIMIT ${numberOf(limit)}`);
    return rows.map(([scope, key]) => ({ scope: String(decoded(scope)), key: String(decoded(key)) }));
  }

  /** Writes and gives those of the candidates that the decision takes. */
  async function taken<Result>(
    candidates: readonly RecordId[],
    decide: (record: SamekeyRecord, view: Parameters<typeof decideSweep>[1]) => Decision<Result> | undefined,
  ): Promise<Result[]> {
    if (candidates.length === 0) return [];
    const results = await upkeep.together((ask) =>
      apply<RecordId, Result | undefined>(ask, tables, candidates, (record, _, view) => {
        const decision = record === null ? undefined : decide(record, view);
        return decision ?? { write: undefined, result: undefined };
      }),
    );
    return results.filter((result): result is Result => result !== undefined && result !== BUSY);
  }

  /** Of these records, those that somebody holds well beyond their claims. */
  function endHoldersOf(over: readonly RecordId[]): Promise<void> {
    return upkeep.alone(async (ask) => {
      const seen = await read(ask, tables, over, '');
      const held = over.filter((id) => {
        const { record, now } = seen.get(idText(id)) ?? {};
        if (record?.state !== 'in_progress' || now === undefined) return false;
        return record.lockedUntil + HELD_MAX_MS <= now - tables.heldMs;
      });
      await endHolders(ask, tables, held, async (these) => (await read(ask, tables, these, '')).values());
    });
  }

  return {
    async sweep(limit, options = {}) {
      const { unknownMaxMs = UNKNOWN_MAX_MS } = options;
      await time.look();
      const over = await upkeep.alone(async (ask) => {
        const { now } = tables;
        const candidates: RecordId[] = [];
        for (const [state, until] of [
          ['in_progress', now],
          ['pending', now],
          ['unknown', `${now} - ${numberOf(unknownMaxMs)}`],
        ]) {
          const where = `r.state = '${state}' AND r.due_at <= ${until} ORDER BY r.due_at`;
          candidates.push(...(await found(ask, where, limit - candidates.length)));
        }
        return candidates;
      });
      const swept = await taken<Swept>(over, (record, view) => decideSweep(record, view, options));
      // Most sweeps find nothing that is over; of what is, some is held for a moment.
      if (swept.length < over.length) await endHoldersOf(over);
      return swept;
    },

    async due({ operations, limit, after, backoffMinMs = 0, backoffMaxMs = backoffMinMs }) {
      if (operations.length === 0 || limit < 1) return [];
      const doubled = `${numberOf(backoffMinMs)} * (1 << LEAST(GREATEST(r.attempt, 2) - 2, ${DOUBLED_MAX}))`;
      const pause = `CASE WHEN r.attempt < 2 OR r.proof = 'settled' THEN 0 ELSE LEAST(${numberOf(backoffMaxMs)}, ${doubled}) END`;
      const rows = await upkeep.alone((ask) => {
        const { now } = tables;
        return ask(
          `SELECT ${seenColumns(tables)} FROM ${records} AS r WHERE r.state IN ('pending', 'retryable', 'unknown') ` +
            'AND r.input IS NOT NULL AND r.fingerprint_label IS NOT NULL AND (' +
            `r.state = 'pending' AND r.attempt = 0 AND r.locked_until > ${now} OR ` +
            `(r.state = 'retryable' AND (r.intent_at IS NOT NULL OR r.expires_at > ${now}) OR ${isLeftToCodeSql('r.')}) ` +
            `AND r.locked_until + ${pause} <= ${now}` +
            `) AND ${isOneOf(operations)}${behind(after)} ORDER BY r.created_at, r.scope, r.key LIMIT ${numberOf(limit)}`,
        );
      });
      return rows.map((row) => seenOf(row).record);
    },

    async reap(limit) {
      await time.look();
      const scopes: string[] = [];
      for (const where of [
        "r.state = 'completed'",
        "r.state = 'failed'",
        "r.state = 'retryable' AND r.intent_at IS NULL",
      ]) {
        const left = limit - scopes.length;
        if (left < 1) break;
        const gone = await upkeep.together(async (ask) => {
          const rows = await ask(
            `SELECT r.id, r.scope FROM ${records} AS r WHERE ${where} AND r.due_at <= ${tables.now} ORDER BY r.due_at ` +
              `LIMIT ${numberOf(left)} FOR UPDATE SKIP LOCKED`,
          );
          if (rows.length > 0)
            await ask(`DELETE FROM ${records} WHERE id IN (${rows.map((row) => String(row[0])).join(', ')})`);
          return rows.map((row) => String(decoded(row[1])));
        });
        scopes.push(...gone);
      }
      const reaped = reapedOf(scopes);
      await takeOff(counters, reaped.byScope);
      return reaped;
    },

    async takeUnknown(request) {
      const { operations, limit } = request;
      if (limit < 1 || operations?.length === 0) return [];
      const named = operations === null ? '' : ` AND ${isOneOf(operations)}`;
      const due = await upkeep.alone((ask) =>
        found(
          ask,
          `r.reconcile_after <= ${tables.now} AND r.state = 'unknown'${named} ORDER BY r.reconcile_after`,
          limit,
        ),
      );
      const isAsked = operations === null ? null : new Set(operations);
      return taken<SamekeyRecord>(due, (record, view) => {
        const write =
          isAsked?.has(record.operation) === false ? undefined : decideTakeUnknown(record, request, view);
        return write && { write, result: write };
      });
    },
    postpone: (requests) => retried(requests, decidePostpone, giveUpRow),

    settle: async (requests) => byHand('settle', settlements(requests), decideSettle),
    reopen: (requests) => byHand('reopen', requests, decideReopen),
    forget: (requests) => byHand('forget', requests, decideForget),
  };
}

/** Byte by byte: the column's collation would take `a ` for `a`. */
export function isOneOf(operations: readonly string[]): string {
  return `CAST(r.operation AS BINARY) IN (${operations.map((name) => bytesOf(exact(name))).join(', ')})`;
}

/** Only what comes after it in the order of `DuePlace`. */
function behind(after: DueRequest['after']): string {
  if (!after) return '';
  const place = `${numberOf(after.createdAt)}, ${bytesOf(after.scope)}, ${bytesOf(after.key)}`;
  return ` AND (r.created_at, r.scope, r.key) > (${place})`;
}
