/**
 * The record of an attempt whose key its transaction has reserved: made when something of the attempt is to be kept
 * that its transaction does not write (its answer after a rollback, its count, that nobody knows).
 *
 * Invariant: what is kept is kept under a claim of its own, or not at all: where somebody else's record stands, it
 * stands.
 */

import type { RunningAttempt } from './attempt.ts';
import { type Conclusion, finishRequest } from './ending/conclude.ts';
import type { Dispatch } from './dispatch.ts';
import { StoreError } from '../core/errors.ts';
import type { SamekeyRecord } from '../core/record.ts';
import type { FinishResult } from '../store/store.ts';
import type { World } from '../core/world.ts';

/** Makes records, and ends them. */
export interface Recording {
  /**
   * Makes the record of an attempt that has none; undefined: it has one. Else what stands there. Rejects with
   * `StoreError`: it may be asked again.
   */
  record(attempt: RunningAttempt, deadline: number): Promise<SamekeyRecord | undefined>;
  /** Ends an attempt, whose record is made first if there is none. Rejects with `StoreError`. */
  finish(attempt: RunningAttempt, conclusion: Conclusion, deadline: number): Promise<FinishResult>;
}

/** Makes it. */
export function createRecording(world: World, dispatch: Pick<Dispatch, 'claim' | 'finish'>): Recording {
  async function record(attempt: RunningAttempt, deadline: number): Promise<SamekeyRecord | undefined> {
    if (attempt.unrecorded === null) return undefined;
    const [sentAt, sentWallAt] = [world.monotonicNow(), world.wallNow()];
    const { claimId } = attempt.unrecorded;
    const result = await dispatch.claim(attempt.unrecorded, deadline);
    if (result.kind === 'found') {
      if (result.record.claimId !== claimId) return result.record;
      // Its own, whose reply was lost, and that was swept since: an end still counts.
      attempt.recorded(result.record.attempt, sentAt, sentWallAt);
      return undefined;
    }
    if (result.kind !== 'claimed')
      throw new StoreError('The store has no room for a key.', { applied: 'no' });
    // Others may have been rolled back meanwhile: then it is a later attempt than its handler was told.
    attempt.recorded(result.attempt, sentAt, sentWallAt);
    return undefined;
  }

  return {
    record,
    async finish(attempt, conclusion, deadline) {
      const stands = await record(attempt, deadline);
      if (stands !== undefined) return { kind: 'refused', record: stands };
      return dispatch.finish(finishRequest(attempt, conclusion), deadline);
    },
  };
}
