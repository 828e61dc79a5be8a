/**
 * Erasing a caller: each of the records that nobody works on is emptied with its row in the audit. What somebody works
 * on, and what nobody knows the outcome of, is left, and counted.
 */

import type { RecordId, SamekeyRecord } from '../../core/record.ts';
import { checkErase, handRow } from '../../store/audit.ts';
import { decideErase } from '../../store/machine/index.ts';
import type { EraseRequest, EraseResult } from '../../store/store.ts';
import type { Decide, RowOf } from './change.ts';

/** What erasing says of one record; `already`: erased before, or gone. */
type Erased = 'erased' | 'left' | 'already';

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
    for (let isMore = true; isMore && erased < limit; ) {
      const most = Math.min(parts.rowsMax, limit - erased);
      const done = await parts.round(scope, most, erasing);
      erased += done.erased;
      isMore = done.erased > 0 && done.found >= most;
    }
    return { erased, left: await parts.left(scope) };
  };
}

/** For one request. */
function erasingOf(request: EraseRequest): Erasing {
  return {
    decide: (record: SamekeyRecord | null, _id, view) =>
      record === null ? { write: undefined, result: 'already' } : decideErase(record, request, view),
    rowOf: (before, after) => handRow('erase', before, after, request),
  };
}
