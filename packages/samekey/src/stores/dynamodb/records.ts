/**
 * One record: read, decide by the state table, compare and set. A round that finds the record changed decides anew;
 * rounds are bounded. A write that finds its own version there had been applied when its reply was lost.
 *
 * Invariants: a write repeats version, claimId and attempt of what was decided on · an act and its rows of the audit
 * are one write · a claim of a key that is not there is one write and no read.
 */

import { transitionRow, type AuditRow, type NewAuditRow } from '../../store/audit.ts';
import { StoreError } from '../../core/errors.ts';
import type { Decision, View } from '../../store/machine/index.ts';
import { idText, type RecordId, type SamekeyRecord } from '../../core/record.ts';
import { BUSY, type Decide, type RowOf } from '../verbs/change.ts';
import type { DynamoAudit } from './audit.ts';
import { fitting, placesIn, type TableBodies, whole } from './bodies.ts';
import { type Calls, inParallel, writeInParallel } from './calls.ts';
import type { StoreClock } from './clock.ts';
import type { Item } from './client.ts';
import { conditionOf } from './element.ts';
import { digestOf, goneItem, itemOf, keyOf, samePlaces, type Stored, storedOf } from './item.ts';
import { createSettleNotes } from './notes.ts';
import type { Views } from './view.ts';

/** A decision, and what is written beside the record. */
type Change<Result> = Decision<Result> & {
  readonly leaseMs?: number | null;
  readonly row?: NewAuditRow | undefined;
};

/** Rounds of one change: each lost round is somebody else's write. */
const ROUNDS_MAX = 12;

export interface Records {
  read(id: RecordId): Promise<Stored | null>;
  readMany(ids: readonly RecordId[]): Promise<readonly (Stored | null)[]>;
  /** By the primary keys that an index gave. `isGoneToo`: also what stands for a record that is gone. */
  readKeys(keys: readonly Item[], isGoneToo?: boolean): Promise<readonly Stored[]>;
  /** `first`: what is known of it; undefined reads it. BUSY: others have changed it in every round. */
  change<Result>(
    id: RecordId,
    decide: (stored: Stored | null, view: View) => Change<Result>,
    first?: Stored | null,
  ): Promise<Result | typeof BUSY>;
  /** One after the other for each key, keys side by side. */
  apply<Request extends RecordId, Result>(
    requests: readonly Request[],
    decide: Decide<Request, Result>,
    options?: {
      readonly rowOf?: RowOf<Request> | undefined;
      /** What is known of this request's record, null for none; undefined reads it. */
      readonly knownOf?: (i: number) => Stored | null | undefined;
    },
  ): Promise<(Result | typeof BUSY)[]>;
  /** Puts rows of the audit that a process left behind into their place. */
  settleNotes(stored: Stored): Promise<void>;
}

interface RecordsOptions {
  readonly calls: Calls;
  readonly clock: StoreClock;
  readonly views: Views;
  readonly audit: DynamoAudit;
  readonly bodies: TableBodies | undefined;
  readonly atOnceMax: number;
  readonly auditTransitions: boolean;
  readonly timeToLive: boolean;
}

/** Makes them. */
export function createRecords(options: RecordsOptions): Records {
  const { calls, clock, views, audit, bodies, atOnceMax, auditTransitions, timeToLive } = options;

  async function readKey(key: Item): Promise<Stored | null> {
    const { Item: item } = (await calls.read('getItem', { Key: key, ConsistentRead: true })) as {
      Item?: Item;
    };
    return item === undefined ? null : storedOf(await whole(item, bodies));
  }

  const settleNotes = createSettleNotes(calls, audit, timeToLive);
  const withPlaces = async (item: Item): Promise<Stored> => storedOf(await whole(item, bodies));

  /** Undefined: written. Else what stands there instead; null for nothing. */
  async function write(
    id: RecordId,
    before: Stored | null,
    after: SamekeyRecord | null,
    { leaseMs, notes }: { readonly leaseMs: number | null; readonly notes: readonly AuditRow[] },
  ): Promise<Stored | null | undefined> {
    const version = crypto.randomUUID();
    const beside = { version, leaseMs, notes, timeToLive };
    if (before !== null && before.notes.length > 0) await audit.put(before.notes);
    const condition = conditionOf(before);
    let answer: Awaited<ReturnType<Calls['write']>>;
    let put: readonly string[] = [];
    let kept: readonly string[] = [];
    if (after === null && notes.length === 0) {
      answer = await calls.write('deleteItem', { Key: keyOf(id), ...condition });
    } else {
      const wanted = after === null ? goneItem(id, beside) : itemOf(after, beside, before?.item ?? null);
      const same = after === null ? {} : samePlaces(before, after);
      const fit = await fitting(wanted, bodies, `${digestOf(id)}/${version}`, same);
      ({ put } = fit);
      kept = placesIn(fit.item);
      answer = await calls.write('putItem', {
        Item: fit.item,
        ...condition,
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      });
    }
    if (answer.kind === 'conflict') {
      const stands = answer.item === undefined ? await readKey(keyOf(id)) : await withPlaces(answer.item);
      if (stands?.version !== version) {
        // Ours may have been written, and its reply lost, and the next writer has left the parts where they are.
        const named = placesIn(stands?.item ?? null);
        await bodies?.discard(put.filter((place) => !named.includes(place)));
        return stands;
      }
    }
    await bodies?.discard(placesIn(before?.item ?? null).filter((place) => !kept.includes(place)));
    if (notes.length > 0) {
      const item = keyOf(id);
      // It is in the record, so whoever comes next, or the reaper, puts it into its place.
      await settleNotes({ record: after, version, leaseMs, notes, item }).catch(() => undefined);
    }
    return undefined;
  }

  const records: Records = {
    read: (id) => readKey(keyOf(id)),
    async readMany(ids) {
      const keys = ids.map(keyOf);
      return inParallel(keys, atOnceMax, readKey);
    },
    async readKeys(keys, isGoneToo = false) {
      const found = await inParallel(keys, atOnceMax, ({ pk, sk }) => readKey({ pk, sk } as Item));
      return found.filter((stored) => stored !== null && (isGoneToo || stored.record !== null)) as Stored[];
    },
    settleNotes,

    async change(id, decide, first) {
      let stored = first === undefined ? await records.read(id) : first;
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        const times = await clock.times();
        const { now } = times;
        const before = stored?.record ?? null;
        const decision = decide(stored, views.of(before, times));
        const after = decision.write;
        if (after === undefined) {
          // Not read, it is not known to be absent.
          if (round > 0 || first === undefined || first !== null) views.stands(id, before, false);
          return decision.result;
        }
        const rows = [decision.row, auditTransitions ? transitionRow(before, after) : undefined];
        const notes = rows.filter((row) => row !== undefined).map((row) => audit.numbered(row, now));
        const leaseMs = decision.leaseMs === undefined ? (stored?.leaseMs ?? null) : decision.leaseMs;
        const stands = await write(id, stored, after, { leaseMs, notes });
        if (stands === undefined) {
          views.stands(id, after, true);
          return decision.result;
        }
        stored = stands;
        if (round > 1) await calls.pause(round - 1);
      }
      return BUSY;
    },

    async apply(requests, decide, { rowOf, knownOf } = {}) {
      const byId = new Map<string, number[]>();
      for (const [i, request] of requests.entries()) {
        keyOf(request);
        const id = idText(request);
        byId.set(id, [...(byId.get(id) ?? []), i]);
      }
      type Request = (typeof requests)[number];
      const results: Awaited<ReturnType<typeof records.apply>> = Array.from({ length: requests.length });
      await writeInParallel([...byId.values()], atOnceMax, async (indexes) => {
        for (const [turn, i] of indexes.entries()) {
          const request = requests[i] as Request;
          results[i] = await records.change(
            request,
            (stored, view) => {
              const before = stored?.record ?? null;
              const decision = decide(before, request, view);
              const isAct = rowOf !== undefined && before !== null && decision.write !== undefined;
              return { ...decision, row: isAct ? rowOf(before, decision.write ?? null, request) : undefined };
            },
            turn === 0 ? knownOf?.(i) : undefined,
          );
        }
      });
      return results as never;
    },
  };
  return records;
}

/** For verbs that have no word for it. */
export function noneBusy<Result>(results: readonly (Result | typeof BUSY)[]): readonly Result[] {
  if (!results.includes(BUSY)) return results as readonly Result[];
  throw new StoreError('A record changed in every round of a write: ask again.', {
    applied: results.every((result) => result === BUSY) ? 'no' : 'unknown',
    busy: true,
  });
}
