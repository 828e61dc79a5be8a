/**
 * Erasing a caller: each of the records that nobody works on is emptied with its row in the audit. What somebody works
 * on, and what nobody knows the outcome of, is left, and counted.
 */

import type { RecordId, SamekeyRecord } from '../../core/record.ts';
import { checkErase, handRow } from '../../store/audit.ts';
import { decideErase } from '../../store/machine/index.ts';
import type { EraseRequest, EraseResult } from '../../store/store.ts';
import { type BUSY, type Decide, type RowOf, unclear } from './change.ts';

/** What erasing says of one record; `already`: erased before, or gone. */
export type Erased = 'erased' | 'left' | 'already';

/** The decision and the row in the audit of one erasure, as `Change` takes them. */
interface Erasing {
  readonly decide: Decide<RecordId, Erased>;
  readonly rowOf: RowOf<RecordId>;
}

/** One round of an erasure. */
interface Round {
  /** Records that looked idle. */
  readonly found: number;
  readonly erased: number;
}

/** What a store does that knows which of a caller's records look idle. */
interface EraseParts {
  /** Records of one round at most. */
  readonly rowsMax: number;
  round(scope: string, limit: number, erasing: Erasing): Promise<Round>;
  /** How many of the caller's records still hold something. */
  left(scope: string): Promise<number>;
}

/** Makes the verb: in rounds, until one finds fewer than it may, or empties none. */
export function createErase(parts: EraseParts): (request: EraseRequest) => Promise<EraseResult> {
  return async (request) => {
    checkErase(request);
    const { scope, limit } = request;
    const erasing = erasingOf(request);
    let erased = 0;
    try {
      for (let isMore = true; isMore && erased < limit; ) {
        const most = Math.min(parts.rowsMax, limit - erased);
        const done = await parts.round(scope, most, erasing);
        erased += done.erased;
        isMore = done.erased > 0 && done.found >= most;
      }
      return { erased, left: await parts.left(scope) };
    } catch (error) {
      throw erased > 0 ? unclear(error) : error;
    }
  };
}

/** What a store does that can only go through all of a caller's records. */
interface WalkingEraseParts<Found> {
  /** Some at a time, each record once; as it stands there, or as an index knows it. */
  walk(scope: string): AsyncIterable<readonly Found[]>;
  /** Reads those again, decides, and writes, with the row of each. */
  change(found: readonly Found[], erasing: Erasing): Promise<readonly (Erased | typeof BUSY)[]>;
}

/** Makes the verb: what looks idle is emptied up to the limit, and what is met and still holds something is counted. */
export function createWalkingErase<Found extends { readonly record: SamekeyRecord | null }>(
  parts: WalkingEraseParts<Found>,
): (request: EraseRequest) => Promise<EraseResult> {
  return async (request) => {
    checkErase(request);
    const erasing = erasingOf(request);
    let erased = 0;
    let left = 0;
    for await (const group of parts.walk(request.scope)) {
      const idle: Found[] = [];
      for (const found of group) {
        const result = whatIfNow(found.record);
        if (result === 'left') left += 1;
        if (result === 'erased') idle.push(found);
      }
      const some = idle.slice(0, Math.max(0, request.limit - erased));
      left += idle.length - some.length;
      for (const result of await parts.change(some, erasing)) {
        if (result === 'erased') erased += 1;
        else if (result !== 'already') left += 1;
      }
    }
    return { erased, left };
  };
}

/** What would become of it: no time decides that. */
function whatIfNow(record: SamekeyRecord | null): Erased {
  return record === null ? 'already' : decideErase(record, undefined, { now: 0 }).result;
}

/** For one request. */
function erasingOf(request: EraseRequest): Erasing {
  return {
    decide: (record: SamekeyRecord | null, _id, view) =>
      record === null ? { write: undefined, result: 'already' } : decideErase(record, request, view),
    rowOf: (before, after) => handRow('erase', before, after, request),
  };
}
