/**
 * Keeping a store in order. A store says by narrow indexes which records may be meant; each is then read again, decided
 * on by the state table, and written if it still is what was read. So a list of candidates may be stale, and however
 * many do the same at once, each record is moved, and told, once.
 */

import { isPurgeable, type SamekeyRecord } from '../../core/record.ts';
import { type Counters, takeOff } from '../../store/counters.ts';
import { decideSweep, decideTakeUnknown, UNKNOWN_MAX_MS } from '../../store/machine/index.ts';
import { reapedOf } from '../../store/reaped.ts';
import type { DueRequest, LifecycleStore, Swept } from '../../store/store.ts';
import type { Take } from './change.ts';

/** What a sweep is made of. */
interface SweepParts<Found> {
  readonly take: Take<Found>;
  /** Before it: looks whether the clock that it goes by is off. */
  look?(): Promise<unknown>;
  /** What may be over, at most `limit`; see {@link overByState}. */
  over(limit: number, unknownMaxMs: number): Promise<readonly Found[]>;
  /** After it: some of those were not swept. */
  missed?(over: readonly Found[]): Promise<void>;
}

/** Makes the verb. */
export function createSweep<Found>(parts: SweepParts<Found>): LifecycleStore['sweep'] {
  return async (limit, options = {}) => {
    const { unknownMaxMs = UNKNOWN_MAX_MS } = options;
    await parts.look?.();
    const over = await parts.over(limit, unknownMaxMs);
    const swept = await parts.take<Swept>(over, (record, view) => decideSweep(record, view, options));
    // Most sweeps find nothing that is over; of what is, some is held for a moment.
    if (swept.length < over.length) await parts.missed?.(over);
    return swept;
  };
}

/** Unfinished records that a worker asked for; nothing is left to defaults. */
export type DueWork = Required<DueRequest>;

/** Makes the verb; `find` gives them in the order of `DuePlace`. */
export function createDue(
  find: (request: DueWork) => Promise<readonly SamekeyRecord[]>,
): LifecycleStore['due'] {
  return async (request) => {
    const { operations, limit, after = null, backoffMinMs = 0, backoffMaxMs = backoffMinMs } = request;
    if (operations.length === 0 || limit < 1) return [];
    return find({ operations, limit, after, backoffMinMs, backoffMaxMs });
  };
}

/** Makes the verb; `find` gives unknown outcomes that are due, the longest due first, of all operations for null. */
export function createTakeUnknown<Found>(
  take: Take<Found>,
  find: (operations: readonly string[] | null, limit: number) => Promise<readonly Found[]>,
): LifecycleStore['takeUnknown'] {
  return async (request) => {
    const { operations, limit } = request;
    if (limit < 1 || operations?.length === 0) return [];
    const due = await find(operations, limit);
    const isAsked = operations === null ? null : new Set(operations);
    return take<SamekeyRecord>(due, (record, view) => {
      // Its key may have begun a new life since it was found.
      if (isAsked?.has(record.operation) === false) return undefined;
      const write = decideTakeUnknown(record, request, view);
      return write && { write, result: write };
    });
  };
}

/** What a reap is made of. */
interface ReapParts {
  /** As in a sweep. */
  look?(): Promise<unknown>;
  /** Deletes what is past retention and tombstone time, at most `limit`; gives the scope of each. */
  reap(limit: number): Promise<readonly string[]>;
  /** Absent: they count by themselves, or there are none. */
  readonly counters?: Counters;
}

/** Makes the verb. */
export function createReap(parts: ReapParts): LifecycleStore['reap'] {
  return async (limit) => {
    await parts.look?.();
    const reaped = reapedOf(await parts.reap(limit));
    if (parts.counters !== undefined) await takeOff(parts.counters, reaped.byScope);
    return reaped;
  };
}

/** The states of which a sweep ends what is over, and by how much; `state` by `state`, until `limit` are found. */
export function overByState<Found>(
  limit: number,
  unknownMaxMs: number,
  find: (state: Swept['from'], overMs: number, limit: number) => Promise<readonly Found[]>,
): Promise<readonly Found[]> {
  const states = [
    ['in_progress', 0],
    ['pending', 0],
    ['unknown', unknownMaxMs],
  ] as const;
  return untilFull(states, limit, ([state, overMs], left) => find(state, overMs, left));
}

/**
 * The states of which a reap deletes what is past its time; of `retryable` only what has no open intent. What was
 * deleted before the store failed is told, so that it is counted: the next reap meets the fault.
 */
export async function reapedByState<Found>(
  limit: number,
  reap: (state: 'completed' | 'failed' | 'retryable', limit: number) => Promise<readonly Found[]>,
): Promise<readonly Found[]> {
  const reaped: Found[] = [];
  const keep = async (state: Parameters<typeof reap>[0], left: number): Promise<readonly Found[]> => {
    const these = await reap(state, left);
    reaped.push(...these);
    return these;
  };
  try {
    await untilFull(['completed', 'failed', 'retryable'] as const, limit, keep);
  } catch (error) {
    if (reaped.length === 0) throw error;
  }
  return reaped;
}

/** Deletes those of the records found that are still past their time; gives their scopes. */
export function takePurgeable<Found>(take: Take<Found>, found: readonly Found[]): Promise<readonly string[]> {
  return take(found, (record, view) =>
    isPurgeable(record, view.now) ? { write: null, result: record.scope } : undefined,
  );
}

/** Asks class by class, each for what is left of the limit. */
async function untilFull<Class, Found>(
  classes: readonly Class[],
  limit: number,
  find: (one: Class, left: number) => Promise<readonly Found[]>,
): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const one of classes) {
    const left = limit - found.length;
    if (left < 1) break;
    found.push(...(await find(one, left)));
  }
  return found;
}
