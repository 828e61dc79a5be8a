/**
 * A delivery has ended, and its message is not its worker's any more: the worker stood still, or was cut off, beyond
 * its lease. What it did is done all the same, so the record of the request that was handed over is looked at again
 * (F146).
 *
 * Invariant: an answer is taken by the fence of the attempt that was handed over, so only where no other answer stands
 * and no other attempt has begun; what contradicts the record is told and noted, never silent. Another delivery of the
 * message is none: both carry one downstream key.
 */

import type { SamekeyRecord } from '../core/record.ts';
import type { FencedId } from '../store/store.ts';

/** How such a delivery ended: its handler answered, with success or without, or nobody knows what it did. */
export type LateEnd = 'success' | 'refusal' | 'not-known';

/**
 * `take`: nobody knows the outcome, and here it is. `take-and-tell`: it was settled as without effect, and has not run
 * again yet: the answer beats the absence, and somebody was wrong. `none`: nothing to be done.
 */
export type LateMeaning = 'take' | 'take-and-tell' | 'contradiction' | 'none';

/** What its end means for the record as it stands. Pure. */
export function meaningOf(record: SamekeyRecord | null, owner: FencedId, end: LateEnd): LateMeaning {
  // Forgotten, erased, expired, or followed by another attempt, which may have done it a second time.
  if (record === null || record.claimId !== owner.claimId || record.attempt !== owner.attempt)
    return 'contradiction';
  switch (record.state) {
    case 'unknown':
      return end === 'not-known' ? 'none' : 'take';
    case 'retryable':
      if (end === 'success') return 'take-and-tell';
      return end === 'refusal' ? 'take' : 'contradiction';
    case 'failed':
      return end === 'success' || (end === 'not-known' && record.proof === 'settled')
        ? 'contradiction'
        : 'none';
    default:
      return 'none';
  }
}
