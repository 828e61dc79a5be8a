/**
 * The one shape of the writes off the hot path: the row is read again, the state table decides on what was read, and
 * the row is written if it still is that. A store implements {@link Change}; the verbs of this room are made of it, but
 * where one statement does all of it.
 *
 * Invariants of an implementation: the write repeats what was seen in its own condition, or holds the row's lock · the
 * row of the audit is one write with the change, so neither is there without the other · where somebody else was faster
 * or holds the row nothing is written, and the result is {@link BUSY}. Its callers name each record once in a call.
 */

import { isStoreError, StoreError } from '../../core/errors.ts';
import type { RecordId, SamekeyRecord } from '../../core/record.ts';
import type { NewAuditRow } from '../../store/audit.ts';
import type { Decision, View } from '../../store/machine/index.ts';

/** The state table's decision for one verb. */
export type Decide<Request, Result> = (
  record: SamekeyRecord | null,
  request: Request,
  view: View,
) => Decision<Result>;

/** The row that a change leaves in the audit; undefined for none. */
export type RowOf<Request> = (
  before: SamekeyRecord,
  after: SamekeyRecord | null,
  request: Request,
) => NewAuditRow | undefined;

/** Somebody else was at the record in between, or holds it. */
export const BUSY: { readonly kind: 'busy' } = Object.freeze({ kind: 'busy' as const });

/** Whether a result is that. */
export function isBusy(result: unknown): result is typeof BUSY {
  return result === BUSY;
}

/** Reads, decides and writes; one result per request, in their order. */
export type Change = <Request extends RecordId, Result>(
  requests: readonly Request[],
  decide: Decide<Request, Result>,
  rowOf?: RowOf<Request>,
) => Promise<readonly (Result | typeof BUSY)[]>;

/** What becomes of a record that upkeep has found; undefined leaves it as it is. */
type DecideFound<Result> = (record: SamekeyRecord, view: View) => Decision<Result> | undefined;

/**
 * Writes those of the records found that the decision still takes, and gives their results, in their order. What
 * somebody else has changed or holds is left out: of two that do the same at once, one gets it.
 */
export type Take<Found> = <Result>(
  found: readonly Found[],
  decide: DecideFound<Result>,
) => Promise<readonly Result[]>;

/** For stores that find records by their ids. */
export function takeBy(change: Change): Take<RecordId> {
  return async <Result>(found: readonly RecordId[], decide: DecideFound<Result>) => {
    if (found.length === 0) return [];
    return takenOf(
      await change<RecordId, Result | undefined>(found, (record, _, view) => ifThere(record, view, decide)),
    );
  };
}

/** What becomes of a record that upkeep has found and read again: it may be gone, or be something else by now. */
export function ifThere<Result>(
  record: SamekeyRecord | null,
  view: View,
  decide: DecideFound<Result>,
): Decision<Result | undefined> {
  return (record === null ? undefined : decide(record, view)) ?? { write: undefined, result: undefined };
}

/** The results of those that were taken. */
export function takenOf<Result>(results: readonly (Result | undefined | typeof BUSY)[]): readonly Result[] {
  return results.filter((result): result is Result => result !== undefined && !isBusy(result));
}

/**
 * An error of a call in which something else was answered: "nothing was applied" is then true of its own statement
 * only.
 */
export function unclear(error: unknown): unknown {
  if (!isStoreError(error) || error.applied === 'unknown') return error;
  const { message, transient, busy, retryAfterMs, cause } = error;
  return new StoreError(message, { applied: 'unknown', transient, busy, retryAfterMs, cause });
}
