/**
 * Attempts that ended without an answer: their time is up, or their handler says after its end that it does not know.
 *
 * Invariant: the reason never passes for that of an owner who is gone, because the handler may still be at work.
 */

import type { Aftermath, SettlerOptions } from './aftermath.ts';
import type { RunningAttempt } from '../attempt.ts';
import type { Conclusion } from './conclude.ts';
import { isStoreError } from '../../core/errors.ts';
import type { Flight } from '../flight.ts';
import { asForRetry } from '../meeting.ts';
import { type Outcome, retryAfter } from '../../core/outcome.ts';
import type { FinishResult } from '../../store/store.ts';

/** Who records them. */
export interface Unanswered {
  /** The attempt's time is up and nothing was answered. */
  timeUp(attempt: RunningAttempt, flight: Flight): Promise<Outcome>;
  /** The handler says that it does not know, after the end of its attempt was recorded. */
  saidLate(attempt: RunningAttempt): Promise<void>;
}

const SAID_LATE = 'after-its-end';

const HUNG: Conclusion = {
  to: 'unknown',
  proof: null,
  reason: 'attempt-time-up',
  response: null,
  unbind: false,
};

/** Makes it. */
export function createUnanswered(options: SettlerOptions, aftermath: Aftermath): Unanswered {
  const { world } = options;

  async function timeUp(attempt: RunningAttempt, flight: Flight): Promise<Outcome> {
    // A resumable record is left to the end of its claim: until then nothing may run beside the hung handler.
    if (attempt.settings.whenClaimEnds === 'resume' && attempt.saidUnknown === null) {
      aftermath.leave(attempt, flight, null);
      return { kind: 'in-progress', retryAfterMs: retryAfter(attempt.settings.claimTtlMs) };
    }
    // If this cannot be written, the claim ends by itself with the same result.
    const { saidUnknown } = attempt;
    // Its handler is still at work: the reason must not pass for that of one that has ended.
    const conclusion = saidUnknown === null ? HUNG : { ...HUNG, reason: `${HUNG.reason}: ${saidUnknown}` };
    const result = await aftermath.save(attempt, conclusion).catch(() => undefined);
    aftermath.leave(attempt, flight, null);
    if (result?.kind === 'refused' && result.record !== null)
      return asForRetry(result.record, attempt, options.readVersion);
    return { kind: 'unknown', retryAfterMs: retryAfter(attempt.settings.reconcileAfterMs) };
  }

  /**
   * What was taken for the handler's end was not: somebody had answered for it, or a promise of it was not awaited.
   * Nobody knows when it ends, so its reason is none of an owner who is gone.
   */
  async function saidLate(attempt: RunningAttempt): Promise<void> {
    const conclusion: Conclusion = { ...HUNG, reason: `${SAID_LATE}: ${attempt.saidUnknown ?? ''}` };
    const sentAt = world.monotonicNow();
    let result: FinishResult | null;
    try {
      result = await aftermath.save(attempt, conclusion);
    } catch (error) {
      if (!isStoreError(error)) throw error;
      result = await aftermath.keep(attempt, conclusion);
    }
    const { to, reason } = conclusion;
    if (result?.kind === 'applied') aftermath.finished(attempt, conclusion, sentAt);
    else if (result?.kind !== 'already') {
      const record = result?.kind === 'refused' ? result.record : null;
      aftermath.contradicts(attempt, { wanted: to, found: record?.state ?? null, reason });
    }
    options.hints?.changed(attempt.id);
  }

  return { timeUp, saidLate };
}
