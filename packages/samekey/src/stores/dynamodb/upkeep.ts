/**
 * Lifecycle and erasing: each record by its own conditional write, found through the indexes, judged by what stands in
 * the table.
 */

import { compareDue, isDue, isPurgeable, type RecordId, type SamekeyRecord } from '../../core/record.ts';
import { giveUpRow } from '../../store/audit.ts';
import { decidePostpone, decideSweep, decideTakeUnknown } from '../../store/machine/index.ts';
import type { EraseRequest, EraseResult, HandResult, LifecycleStore } from '../../store/store.ts';
import type { ClaimWatch } from '../../store/time/claim-watch.ts';
import { type BUSY, type Decide, ifThere, isBusy, type RowOf, type Take, takenOf } from '../verbs/change.ts';
import { createWalkingErase } from '../verbs/erase.ts';
import { createDue, createReap, createSweep, takePurgeable } from '../verbs/upkeep.ts';
import { writeInParallel } from './calls.ts';
import type { StoreClock } from './clock.ts';
import type { Look } from './index-walk.ts';
import type { Stored } from './item.ts';
import { noneBusy, type Records } from './records.ts';
import { asked, type Views } from './view.ts';

interface UpkeepOptions {
  readonly clock: StoreClock;
  readonly records: Records;
  readonly look: Look;
  readonly views: Views;
  readonly leases: ClaimWatch;
  readonly atOnceMax: number;
}

/** Makes the verbs. */
export function createUpkeep(
  options: UpkeepOptions,
): LifecycleStore & { erase(request: EraseRequest): Promise<EraseResult> } {
  const { clock, records, look, views, leases, atOnceMax } = options;

  /** By the shared time; and if the last one that took it never said a word, by the watch, as with claims. */
  function isLeased({ record, leaseMs }: Stored): boolean {
    if (record === null || record.inquiries === 0 || leaseMs === null) return false;
    return leases.see(asked(record, leaseMs)) > 0;
  }

  /** Through the readings that found them: a record that has not changed since is not read again. */
  function changeFound<Result>(
    found: readonly Stored[],
    decide: Decide<RecordId, Result>,
    rowOf?: RowOf<RecordId>,
  ): Promise<readonly (Result | typeof BUSY)[]> {
    const ids = found.map(({ record }) => record as SamekeyRecord);
    return records.apply<RecordId, Result>(ids, decide, { rowOf, knownOf: (i) => found[i] });
  }

  const take: Take<Stored> = async (found, decide) =>
    takenOf(await changeFound(found, (record, _, view) => ifThere(record, view, decide)));

  return {
    sweep: createSweep({
      take,
      async over(limit, unknownMaxMs) {
        const times = await clock.times();
        const open = [
          ...(await look.open('claim', { walk: 'sweep' })),
          ...(await look.open('pending', { until: times.now })),
          ...(await look.open('unknown', { walk: 'sweep' })),
        ];
        // A process that died behind an act left its rows inside.
        for (const stored of open) if (stored.notes.length > 0) await records.settleNotes(stored);
        // Each is seen, so that each is watched from now on, whatever the limit.
        const over = open.filter(
          ({ record }) => record !== null && decideSweep(record, views.of(record, times), { unknownMaxMs }),
        );
        return over.slice(0, Math.max(0, limit));
      },
    }),
    due: createDue(async ({ operations, limit, after, ...backoff }) => {
      const found = [
        ...(await look.open('pending', { walk: 'due' })),
        ...(await look.open('due', { walk: 'due' })),
        // Left to code that fits them.
        ...(await look.open('unknown', { walk: 'due' })),
      ];
      const now = await clock.now();
      return found
        .flatMap(({ record }) => (record === null ? [] : [record]))
        .filter((record) => operations.includes(record.operation) && isDue(record, now, backoff))
        .filter((record) => !after || compareDue(record, after) > 0)
        .toSorted(compareDue)
        .slice(0, limit);
    }),
    reap: createReap({
      async reap(limit) {
        if (limit < 1) return [];
        for (const stored of await look.open('note', { isGoneToo: true })) await records.settleNotes(stored);
        const now = await clock.now();
        const over = [
          ...(await look.open('over', { until: now, limit })),
          // What a worker may still begin stands under its own kind, also when its life is over.
          ...(await look.open('due', { walk: 'reap' })),
        ].filter(({ record }) => record !== null && isPurgeable(record, now));
        return takePurgeable(take, over.slice(0, limit));
      },
    }),
    erase: createWalkingErase<Stored>({
      walk: (caller) => look.ofCaller(caller),
      change: (found, { decide, rowOf }) => changeFound(found, decide, rowOf),
    }),
    async takeUnknown({ operations, limit, ...request }) {
      if (limit < 1 || operations?.length === 0) return [];
      const now = await clock.now();
      const due = (await look.open('unknown', { until: now }))
        .filter(({ record }) => record !== null && (operations?.includes(record.operation) ?? true))
        .filter((stored) => !isLeased(stored))
        .toSorted((a, b) => (a.record?.reconcileAfter ?? 0) - (b.record?.reconcileAfter ?? 0));
      const taken: SamekeyRecord[] = [];
      for (const stored of due) {
        if (taken.length >= limit) break;
        const after = await records.change<SamekeyRecord | undefined>(
          stored.record as SamekeyRecord,
          (found, view) => {
            const isFree = found?.record && !isLeased(found);
            const write = isFree ? decideTakeUnknown(found.record, request, view) : undefined;
            return { write, result: write, leaseMs: request.leaseMs };
          },
          stored,
        );
        if (after === undefined || isBusy(after)) continue;
        leases.restart(asked(after, request.leaseMs));
        taken.push(after);
      }
      return taken;
    },

    async postpone(requests) {
      const results = await writeInParallel(requests, atOnceMax, (request) =>
        records.change<HandResult>(request, (found, view) => {
          const before = found?.record ?? null;
          const decision = decidePostpone(before, request, view);
          if (!decision.write || before === null) return decision;
          return { ...decision, leaseMs: null, row: giveUpRow(before, decision.write, request) };
        }),
      );
      return noneBusy(results);
    },
  };
}
