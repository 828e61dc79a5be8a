/**
 * From what stands in a record to what a request is told of it. Pure.
 */

import type { RunningAttempt } from './attempt.ts';
import type { Met } from './flight.ts';
import { EXHAUSTED } from '../store/machine/index.ts';
import { type Outcome, retryAfter, type UnavailableReason } from '../core/outcome.ts';
import { attemptAgeMs, type SamekeyRecord } from '../core/record.ts';
import type { StoredResponse } from '../core/response.ts';
import type { OperationSettings } from '../core/settings.ts';
import type { ClaimResult } from '../store/store.ts';
import { askAgainAfter, type Running } from './usual.ts';
import type { Work } from './work.ts';

/** An outcome that no claim of another process stands behind. */
export function metOnly(outcome: Outcome): Met {
  return { outcome, claimLeftMs: 0 };
}

/** No decision could be made. */
export function unavailable(because: UnavailableReason, retryAfterMs = 1_000): Outcome {
  return { kind: 'unavailable', because, retryAfterMs };
}

/** What a duplicate in this process makes of what the request it joined has met; null: ask the store. */
export function shared(met: Met): Met | null {
  const { outcome } = met;
  if (outcome.kind !== 'executed') return { ...met, isNew: false };
  const { state, response, attempt, expiresAt, stored } = outcome;
  // Only what the record holds for good is shared.
  if ((state !== 'completed' && state !== 'failed') || !stored) return null;
  if (response === null || response.body === null || expiresAt === null) return null;
  return metOnly({ kind: 'replay', response, attempt, expiresAt });
}

/** It is final, and the body of its answer is not kept: what is left of it. */
export function notStored(
  state: 'completed' | 'failed',
  response: StoredResponse | null,
  expiresAt: number,
): Extract<Outcome, { kind: 'response-not-stored' }> {
  const location = response?.headers.find(([name]) => name.toLowerCase() === 'location')?.[1] ?? null;
  return {
    kind: 'response-not-stored',
    state,
    originalStatus: response?.status ?? null,
    location,
    expiresAt,
  };
}

const NOTHING_KNOWN: Running = { ageMs: 0, claimLeftMs: 0, usualMs: null };

/** The outcome of a claim that was not granted. */
export function outcomeOf(
  result: ClaimResult & { readonly kind: 'found' },
  settings: OperationSettings,
  running: Running,
): Outcome {
  switch (result.because) {
    case 'newer-format':
    case 'other-label':
    case 'unreadable':
      return unavailable(result.because, 5_000);
    case 'expired':
      return { kind: 'expired' };
    case 'mismatch':
      return { kind: 'mismatch' };
    case 'spent':
      return { kind: 'in-progress', retryAfterMs: retryAfter(0) };
    // Also where a worker leaves a record as it is, because its code does not know the steps in it.
    case 'unknown':
      return { kind: 'unknown', retryAfterMs: retryAfter(settings.reconcileAfterMs) };
    case 'exhausted':
    case 'final':
    case 'pending':
    case 'in-progress':
      return outcomeOfRecord(result.record, settings, running);
    default:
      return result.because satisfies never;
  }
}

/** What a retry is told by a record that it cannot move. */
function outcomeOfRecord(
  record: SamekeyRecord,
  settings: OperationSettings,
  running: Running = NOTHING_KNOWN,
): Outcome {
  switch (record.state) {
    case 'completed':
    case 'failed': {
      const { response, attempt, expiresAt, state } = record;
      if (record.reason === EXHAUSTED) return { kind: 'attempts-exhausted' };
      // There is an answer; that it cannot be opened here says nothing about what it is.
      if (record.unreadable !== undefined) return unavailable('unreadable', 5_000);
      if (response !== null && response.body !== null)
        return { kind: 'replay', response, attempt, expiresAt };
      return notStored(state, response, expiresAt);
    }
    case 'unknown':
      return { kind: 'unknown', retryAfterMs: retryAfter(settings.reconcileAfterMs) };
    case 'pending':
      // How long its work will take says nothing of when it begins.
      return { kind: 'pending', retryAfterMs: askAgainAfter({ ...running, claimLeftMs: 0, usualMs: null }) };
    case 'in_progress':
      return { kind: 'in-progress', retryAfterMs: askAgainAfter(running) };
    case 'retryable':
      // Reopened or forgotten, it runs at the end of this time and not before.
      return { kind: 'in-progress', retryAfterMs: retryAfter(running.claimLeftMs) };
    default:
      return record.state satisfies never;
  }
}

/**
 * The same for whoever only looks. How long it has run and may still run is told by this machine's clock: a proposal
 * for when to ask again decides nothing.
 */
export function outcomeSeen(
  record: SamekeyRecord,
  settings: OperationSettings,
  now: number,
  usualMs: number | null,
): Outcome {
  const claimLeftMs = Math.max(0, record.lockedUntil - now);
  return outcomeOfRecord(record, settings, { ageMs: attemptAgeMs(record, now), claimLeftMs, usualMs });
}

/** The same attempt, met in vain for so long. */
export function stillRunning({ outcome, running }: Met, waitedMs: number): Outcome {
  if (outcome.kind !== 'in-progress' || running === undefined || waitedMs === 0) return outcome;
  const { ageMs, claimLeftMs, usualMs } = running;
  const now = { ageMs: ageMs + waitedMs, claimLeftMs: claimLeftMs - waitedMs, usualMs };
  return { kind: 'in-progress', retryAfterMs: askAgainAfter(now) };
}

/**
 * Who left its work to a worker is told that the worker has it, also while it runs. What was begun without one, by code
 * that runs it at once, is nothing that a worker has: it is asked for again (F114).
 */
export function asAccepted({ entry }: Work, outcome: Outcome, isNobodys = false): Outcome {
  if (entry !== 'accept' || outcome.kind !== 'in-progress' || isNobodys) return outcome;
  return { kind: 'pending', retryAfterMs: outcome.retryAfterMs };
}

/**
 * What a retry would be told by the record that stands there now. It may be another request's: the key was unbound by
 * this very attempt, or forgotten, or it expired.
 */
export function asForRetry(
  record: SamekeyRecord,
  { settings, fingerprint }: RunningAttempt,
  readVersion: number,
): Outcome {
  if (record.formatVersion > readVersion) return unavailable('newer-format', 5_000);
  const bound = record.fingerprint;
  if (bound !== null && bound.label === fingerprint.label && bound.digest !== fingerprint.digest)
    return { kind: 'mismatch' };
  // Made another way it cannot be compared here; the retry will be.
  if (bound !== null && bound.label !== fingerprint.label)
    return { kind: 'in-progress', retryAfterMs: retryAfter(0) };
  return outcomeOfRecord(record, settings);
}
