/**
 * Upkeep and the operator's hand: candidates are read without locks by a narrow index, then locked by their ids, looked
 * at again, and written. What somebody else holds is skipped; two that sweep at once never get the same record.
 */

import { DOUBLED_MAX, idText, type RecordId } from '../../core/record.ts';
import type { Counters } from '../../store/counters.ts';
import type { DueRequest, LifecycleStore, OperatorStore } from '../../store/store.ts';
import type { ServerTime } from '../../store/time/server-time.ts';
import { isLeftToCodeSql } from '../sql/left-to-code.ts';
import { type Change, takeBy } from '../verbs/change.ts';
import { createHand } from '../verbs/by-hand.ts';
import {
  createDue,
  createReap,
  createSweep,
  createTakeUnknown,
  overByState,
  reapedByState,
} from '../verbs/upkeep.ts';
import { isOneOf } from './conditions.ts';
import { endHolders, HELD_MAX_MS } from './holders.ts';
import type { Link } from './link.ts';
import { bytesOf, decoded, numberOf } from './literals.ts';
import type { Ask } from './client.ts';
import { dropReferences } from './references.ts';
import { apply, checkIds, read, seenColumns, seenOf } from './records.ts';
import { quote, type Tables } from './tables.ts';

/** The verbs of upkeep, and the operator's on single records. */
type Upkeep = LifecycleStore & Pick<OperatorStore, 'settle' | 'reopen' | 'forget'>;

/** Makes them on the connection of upkeep. */
export function createUpkeep(tables: Tables, upkeep: Link, counters: Counters, time: ServerTime): Upkeep {
  const { records } = tables;
  const ids = `SELECT r.scope, r.${quote('key')} FROM ${records} AS r`;

  const change: Change = (requests, decide, rowOf) =>
    upkeep.together((ask) => apply(ask, tables, requests, decide, { rowOf }));

  async function found(ask: Ask, where: string, limit: number): Promise<RecordId[]> {
    const rows = await ask(`${ids} WHERE ${where} LIMIT ${numberOf(limit)}`);
    return rows.map(([scope, key]) => ({ scope: String(decoded(scope)), key: String(decoded(key)) }));
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

  /** Locked as they are found, so the decision is the condition itself. */
  function reapSome(state: string, limit: number): Promise<string[]> {
    return upkeep.together(async (ask) => {
      const idle = state === 'retryable' ? ' AND r.intent_at IS NULL' : '';
      const rows = await ask(
        `SELECT r.id, r.scope FROM ${records} AS r WHERE r.state = '${state}'${idle} AND r.due_at <= ${tables.now} ORDER BY r.due_at ` +
          `LIMIT ${numberOf(limit)} FOR UPDATE SKIP LOCKED`,
      );
      const gone = rows.map((row) => String(row[0]));
      if (gone.length > 0) await ask(`DELETE FROM ${records} WHERE id IN (${gone.join(', ')})`);
      await dropReferences(ask, tables, gone);
      return rows.map((row) => String(decoded(row[1])));
    });
  }

  const take = takeBy(change);
  return {
    sweep: createSweep({
      take,
      look: () => time.look(),
      over: (limit, unknownMaxMs) =>
        upkeep.alone((ask) =>
          overByState(limit, unknownMaxMs, (state, overMs, left) => {
            const until = overMs === 0 ? tables.now : `${tables.now} - ${numberOf(overMs)}`;
            return found(ask, `r.state = '${state}' AND r.due_at <= ${until} ORDER BY r.due_at`, left);
          }),
        ),
      missed: endHoldersOf,
    }),
    due: createDue(async ({ operations, limit, after, backoffMinMs, backoffMaxMs }) => {
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
    }),
    takeUnknown: createTakeUnknown(take, (operations, limit) => {
      const named = operations === null ? '' : ` AND ${isOneOf(operations)}`;
      return upkeep.alone((ask) => {
        const where = `r.reconcile_after <= ${tables.now} AND r.state = 'unknown'${named}`;
        return found(ask, `${where} ORDER BY r.reconcile_after`, limit);
      });
    }),
    reap: createReap({
      look: () => time.look(),
      reap: (limit) => reapedByState(limit, reapSome),
      counters,
    }),
    ...createHand({ change, checkIds, counters }),
  };
}

/** Only what comes after it in the order of `DuePlace`. */
function behind(after: DueRequest['after']): string {
  if (!after) return '';
  const place = `${numberOf(after.createdAt)}, ${bytesOf(after.scope)}, ${bytesOf(after.key)}`;
  return ` AND (r.created_at, r.scope, r.key) > (${place})`;
}
