/**
 * What a request can meet: one union on `kind`, in the order of precedence of contract §4.1. Types, docs, tests and
 * profiles keep this order. Every member is an expected outcome, so none is an exception.
 */

import type { KeyFault } from './errors.ts';
import type { State } from './record.ts';
import type { StoredResponse } from './response.ts';
import type { Issue } from './schema.ts';
import type { TimeFault } from './signed-time.ts';

/** The kinds of outcome, in order of precedence. */
export const OUTCOME_KINDS = [
  'anonymous',
  'key-missing',
  'key-malformed',
  'request-unreadable',
  'request-malformed',
  'request-too-large',
  'request-time-invalid',
  'request-too-old',
  'unavailable',
  'expired',
  'mismatch',
  'replay',
  'response-not-stored',
  'unknown',
  'pending',
  'in-progress',
  'attempts-exhausted',
  'request-invalid',
  'limited',
  'executed',
] as const;

/** The name of an outcome. */
export type OutcomeKind = (typeof OUTCOME_KINDS)[number];

/**
 * Why no decision could be made: the store failed or is full, this process is closing, the record was written by code
 * that is newer than this (its format, or the label of its fingerprint), it is sealed and this process cannot open it,
 * or a limiter that fails closed has failed. Of what a deploy has changed: the key was used with the same request at
 * another path, by another method or by another session (`moved`); its record is kept under a former identity and
 * cannot be compared from here (`kept-elsewhere`); no bridge leads from this route to the one that is named
 * (`bridge-unfit`); the key is known and its body is larger than this route takes now (`too-large-now`).
 */
export type UnavailableReason =
  | 'store'
  | 'store-full'
  | 'closing'
  | 'newer-format'
  | 'other-label'
  | 'unreadable'
  | 'moved'
  | 'kept-elsewhere'
  | 'bridge-unfit'
  | 'too-large-now'
  | 'replay-hook'
  | 'limiter';

/** What a request met. `retryAfterMs` is a proposal for `Retry-After`, within 1–60 s. */
export type Outcome =
  /** The scope function named no caller, and anonymous callers were not allowed. */
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'key-missing' }
  | { readonly kind: 'key-malformed'; readonly fault: KeyFault; readonly detail: string }
  | { readonly kind: 'request-unreadable'; readonly detail: string }
  /** Complete, and not what the operation takes, such as no JSON: sent again unchanged, it is refused again. */
  | { readonly kind: 'request-malformed'; readonly detail: string }
  | { readonly kind: 'request-too-large'; readonly sizeMaxBytes: number }
  /** The request must say when it was sent, signed, and does not. */
  | { readonly kind: 'request-time-invalid'; readonly fault: TimeFault }
  /** Sent longer ago than `windowMs`: perhaps not by whom it came from. */
  | { readonly kind: 'request-too-old'; readonly windowMs: number }
  | { readonly kind: 'unavailable'; readonly because: UnavailableReason; readonly retryAfterMs: number }
  /** Past its retention and kept as a tombstone: never runs again. */
  | { readonly kind: 'expired' }
  /** Another request has used this key. */
  | { readonly kind: 'mismatch' }
  /** Finished earlier: the stored answer, byte for byte. */
  | {
      readonly kind: 'replay';
      readonly response: StoredResponse;
      readonly attempt: number;
      readonly expiresAt: number;
    }
  /** Finished earlier, but the answer was not kept. `originalStatus` and `location` are what is left of it. */
  | {
      readonly kind: 'response-not-stored';
      readonly state: 'completed' | 'failed';
      readonly originalStatus: number | null;
      readonly location: string | null;
      readonly expiresAt: number;
    }
  /** An earlier attempt may have taken effect; it must be settled, not run again. */
  | { readonly kind: 'unknown'; readonly retryAfterMs: number }
  /** Accepted earlier; a worker has it. */
  | { readonly kind: 'pending'; readonly retryAfterMs: number }
  /** An attempt is running now. */
  | { readonly kind: 'in-progress'; readonly retryAfterMs: number }
  | { readonly kind: 'attempts-exhausted' }
  /**
   * The key is new, or its last attempt was without effect, and the input is not valid: nothing was claimed, nothing is
   * bound to it.
   */
  | { readonly kind: 'request-invalid'; readonly issues: readonly Issue[] }
  | { readonly kind: 'limited'; readonly retryAfterMs: number }
  /** The handler ran for this request, as attempt number `attempt`. */
  | Executed;

/**
 * The handler ran. `state` is what the record became; `stored` is false when the record could not be written in time
 * (the process keeps trying); `response` is null when the handler threw and no answer was made of it.
 */
export interface Executed {
  readonly kind: 'executed';
  readonly attempt: number;
  /** `pending`: handed over to a worker; the answer is for this caller only, and a retry is told to ask again. */
  readonly state: Exclude<State, 'in_progress'>;
  readonly stored: boolean;
  readonly response: StoredResponse | null;
  readonly expiresAt: number | null;
  /** What the handler threw, if it threw. */
  readonly error: { readonly thrown: unknown } | null;
}

const RETRY_AFTER_MIN_MS = 1_000;
const RETRY_AFTER_MAX_MS = 60_000;

/** A `Retry-After` proposal within 1–60 s (contract §4.4). */
export function retryAfter(ms: number): number {
  return Math.min(RETRY_AFTER_MAX_MS, Math.max(RETRY_AFTER_MIN_MS, ms));
}
