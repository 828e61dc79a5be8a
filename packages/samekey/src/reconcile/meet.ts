/**
 * What a verdict comes to when the record is not `unknown`, or not any more. Pure; nothing is written in any of these
 * cases.
 */

import { isForgotten, type SamekeyRecord, type State } from '../core/record.ts';
import { readSteps } from '../ways/steps.ts';
import type { FinalVerdict } from './verdict.ts';

/** What stands there, as the verdict sees it. */
export type Meeting =
  /** It says so already. */
  | { readonly kind: 'already'; readonly state: State }
  /** It says something else, and that stays. */
  | { readonly kind: 'contradiction'; readonly found: State | null }
  /** Somebody is at work on it, or will be: what they find out counts. */
  | { readonly kind: 'not-yet'; readonly state: State };

/**
 * Compares. `about` is the attempt that the verdict is about; null when nobody knows, then it is about whichever there
 * is.
 */
export function meet(
  says: FinalVerdict['says'],
  record: SamekeyRecord | null,
  about: number | null,
): Meeting {
  if (record === null || isForgotten(record)) return { kind: 'contradiction', found: null };
  const { state } = record;
  const already: Meeting = { kind: 'already', state };
  const contradiction: Meeting = { kind: 'contradiction', found: state };
  const happened = says === 'completed' || says === 'took-effect';
  switch (state) {
    case 'pending':
    case 'in_progress':
    case 'unknown':
      // Somebody said "no effect" and it runs again; and now this one says that it had one.
      return happened && about !== null && about < record.attempt && !isDone(record, says)
        ? contradiction
        : { kind: 'not-yet', state };
    case 'retryable':
      if (!happened || isDone(record, says)) return already;
      // Its effect is open and the next attempt looks itself: nobody has said that nothing happened.
      return record.intentAt !== null &&
        record.proof !== 'settled' &&
        (about ?? record.attempt) >= record.attempt
        ? { kind: 'not-yet', state }
        : contradiction;
    case 'completed':
      return happened ? already : contradiction;
    case 'failed':
      // What the effect gave may be what it was refused for.
      return happened && !isDone(record, says) ? contradiction : already;
    default:
      return state satisfies never;
  }
}

/** Whether what the verdict says of an effect stands in the steps. */
function isDone(record: SamekeyRecord, says: FinalVerdict['says']): boolean {
  const last = (readSteps(record.steps) ?? []).findLast((step) => step.kind === 'effect');
  return says === 'took-effect' && last !== undefined && last.done !== null;
}
