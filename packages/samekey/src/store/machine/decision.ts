/**
 * What the parts of the state table share: what a decision is made on and what it says, the reasons it leaves, and the
 * rules that hold for each of its rows.
 */

import {
  type Fence,
  isByHand,
  LEFT_TO_CODE_MS,
  PHASES_CHANGED,
  type SamekeyRecord,
} from '../../core/record.ts';
import type { HandResult } from '../store.ts';

/** What the store knows at the moment of the decision. */
export interface View {
  /** The store's clock, in milliseconds since 1970. */
  readonly now: number;
  /**
   * From which lives are counted (`expiresAt`): `now`, or later where a clock is ahead and not believed
   * (`shared-time.ts`, `server-time.ts`).
   */
  readonly laterNow: number;
  /** Whether the record's claim is over by the store's own rule; only looked at while `in_progress`. */
  readonly claimOver: boolean;
  /**
   * What the living claim has left by the store's own rule, in milliseconds; for a `retryable` record the time until a
   * claim may be granted.
   */
  readonly claimLeftMs: number;
}

/** What to write (`undefined`: nothing, `null`: delete), and what to answer. */
export interface Decision<Result> {
  readonly write: SamekeyRecord | null | undefined;
  readonly result: Result;
}

/**
 * Whether `lockedUntil` keeps claims away. Of a record that may run again it is when its attempt ended, but for what
 * was reopened or forgotten by hand: a server whose clock is behind, or was set back, keeps nobody waiting.
 */
function isLocked(record: SamekeyRecord): boolean {
  if (record.state === 'retryable') return isByHand(record);
  return record.state === 'in_progress' || record.state === 'pending';
}

/**
 * The view of a store whose clock is the server's: a claim is over when its time has passed; `heldMs` later after a
 * leap of the time (`server-time.ts`).
 */
export function serverView(
  record: SamekeyRecord | null,
  now: number,
  laterNow: number = now,
  heldMs: number = 0,
): View {
  const claimLeftMs =
    record !== null && isLocked(record) ? Math.max(0, record.lockedUntil - (now - heldMs)) : 0;
  return { now, laterNow, claimOver: claimLeftMs === 0, claimLeftMs };
}

/** The end of the year 9999: a message has its own deadline. */
export const NEVER = 253_402_300_799_000;

/** The reason of a record that was forgotten and whose key may not run yet. */
export const FORGOTTEN = 'forgotten';
/** The reason of a record whose content was erased. */
export const ERASED = 'erased';
/** The reason of a record whose claim ended without a word from its owner. */
export const CLAIM_ENDED = 'claim-ended';
/** The reason of a record that was accepted and not begun by its deadline. */
export const NEVER_STARTED = 'never-started';
/** The reason of a record whose outcome nobody came to know in time. */
export const NEVER_KNOWN = 'outcome-never-known';
/** The reason of a record that used up its attempts. */
export const EXHAUSTED = 'attempts-exhausted';

/** Never shorter than before, and long enough that whoever waited for the end can still read it (F58). */
export function lifeAfter(record: SamekeyRecord, { laterNow }: View): number {
  return Math.max(record.expiresAt, laterNow + record.replayMinMs);
}

/** It holds steps that whoever met it does not know: nobody guesses, and code that knows them goes on (F109). */
export function leftToCode(record: SamekeyRecord, { now }: View): SamekeyRecord {
  return {
    ...record,
    state: 'unknown',
    lockedUntil: Math.min(record.lockedUntil, now),
    // What was settled of its open effect stays so.
    proof: record.proof === 'settled' ? 'settled' : null,
    reason: PHASES_CHANGED,
    reconcileAfter: now + LEFT_TO_CODE_MS,
    inquiries: 0,
  };
}

/**
 * Whether it is the record that the writer holds: claimId and attempt, because numbers begin again after a deletion.
 */
export function sameFence(record: SamekeyRecord | null, fence: Fence): record is SamekeyRecord {
  return record !== null && record.claimId === fence.claimId && record.attempt === fence.attempt;
}

/** Something else stands there: nothing is changed. */
export function refused(record: SamekeyRecord | null): Decision<HandResult> {
  return { write: undefined, result: { kind: 'refused', record } };
}
