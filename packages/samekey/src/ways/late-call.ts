/**
 * What the end of an effect's call means for a record that may have gone on without it. Its owner stood still, or its
 * call took longer than it may: another attempt may have asked the provider too early and called a second time (F69).
 * Pure.
 *
 * Invariant: what cannot be excluded is a contradiction. What another attempt still may find out by itself is not one
 * yet.
 */

import { comparableBytes } from '../fingerprint/digest.ts';
import { jsonOf } from '../fingerprint/json-value.ts';
import type { Fence, SamekeyRecord } from '../core/record.ts';
import { sameBytes } from '../core/response.ts';
import { readSteps } from './steps.ts';

/** How a call ended. */
export type CallEnd = { readonly result: unknown } | { readonly error: unknown };

/** A call that has ended. */
export interface EndedCall {
  readonly effect: string;
  readonly fence: Fence;
  /** When the record was made under which it was called. */
  readonly createdAt: number;
  readonly end: CallEnd;
  /** Whether the provider still knows its downstream key: then every other call with it was this one. */
  readonly isCovered: boolean;
}

/**
 * Whether the record contradicts the call: `yes`, something may have happened twice, or is taken for not done · `no` ·
 * `not-yet`: another attempt has not called, and asks first. That may find a third call: so it is looked at again, too,
 * while the record still is as its own attempt left it.
 */
export function contradictionOf(
  record: SamekeyRecord | null,
  { effect, fence, createdAt, end, isCovered }: EndedCall,
): 'yes' | 'no' | 'not-yet' {
  // Forgotten, erased, expired: nobody remembers what the call has done.
  if (record === null || record.createdAt !== createdAt) return 'yes';
  const settled = record.proof === 'settled';
  if (settled && record.state !== 'completed') return 'yes';
  if (isCovered) return 'no';
  const isOwn = record.claimId === fence.claimId && record.attempt === fence.attempt;
  if (record.unreadable !== undefined) return isOwn ? 'no' : 'yes';
  const step = readSteps(record.steps)?.find(({ kind, name }) => kind === 'effect' && name === effect);
  if (step?.kind !== 'effect') return isOwn ? 'no' : 'yes';
  if (isOwn && 'error' in end) return 'no';
  if (step.done !== null) return 'result' in end && isSame(step.done.result, end.result) ? 'no' : 'yes';
  if (step.call?.attempt !== fence.attempt) return 'yes';
  return record.state === 'completed' || record.state === 'failed' ? 'no' : 'not-yet';
}

/** What an answer "not found" is weighed by, in milliseconds. */
export interface Asking {
  /** When it was asked, counted from the beginning of the attempt that asks. */
  readonly sinceBegunMs: number;
  /** How old the intent was when this attempt began, by the store's clock; null: the store does not know. */
  readonly intentAgeMs: number | null;
  readonly claimTtlMs: number;
  readonly callTimeMaxMs: number;
}

/**
 * How long the earlier call may still be under way: it began within a claim that was renewed with its intent, and lasts
 * `callTimeMaxMs` at most. Until then "not found" says nothing.
 */
export function mayBeUnderWayMs({ sinceBegunMs, intentAgeMs, claimTtlMs, callTimeMaxMs }: Asking): number {
  const ageMs = (intentAgeMs ?? 0) + sinceBegunMs;
  return Math.max(claimTtlMs + callTimeMaxMs - ageMs, callTimeMaxMs - sinceBegunMs);
}

/** The provider was asked, and told of this very call. */
function isSame(stored: unknown, result: unknown): boolean {
  try {
    const told: unknown = JSON.parse(jsonOf('The result', result) ?? 'null');
    return sameBytes(comparableBytes('The result', stored), comparableBytes('The result', told));
  } catch {
    return false;
  }
}
