/**
 * Records how an attempt ended, each end in its way: an answer or a throw (answer-saving), no answer at all
 * (unanswered), or what its way has written itself: committed, handed over, stopped, not started.
 *
 * Invariants: an attempt whose record has moved on never gives its own answer, nor that of another request · what
 * contradicts is told, never silent.
 */

import { type Contradiction, createAftermath, type SettlerOptions } from './aftermath.ts';
import { createAnswerSaving } from './answer-saving.ts';
import type { Ending, RunningAttempt } from '../attempt.ts';
import type { Conclusion } from './conclude.ts';
import type { Flight } from '../flight.ts';
import { unavailable } from '../meeting.ts';
import { type Executed, type Outcome, retryAfter } from '../../core/outcome.ts';
import { ENDED_INSIDE, isLeftToCode } from '../../core/record.ts';
import { about } from '../renewer.ts';
import { response as responseOf, type StoredResponse } from '../../core/response.ts';
import { createUnanswered, type Unanswered } from './unanswered.ts';

/** What settles. */
export interface Settler extends Unanswered {
  /** The attempt ended. */
  settle(attempt: RunningAttempt, flight: Flight, ending: Ending): Promise<Outcome>;
  /** Tells what does not fit: by an event, and by a row of the audit. */
  contradicts(attempt: RunningAttempt, what: Contradiction): void;
}

/** Makes the settler of one engine. */
export function createSettler(options: SettlerOptions): Settler {
  const { world, emit } = options;
  const aftermath = createAftermath(options);
  const answers = createAnswerSaving(options, aftermath);

  async function settle(attempt: RunningAttempt, flight: Flight, ended: Ending): Promise<Outcome> {
    const ending = attempt.saidUnknown === null ? ended : asUnknown(ended);
    switch (ending.kind) {
      case 'answered':
      case 'threw':
        return answers.settleOpen(attempt, flight, ending);
      case 'committed':
        return settleCommitted(attempt, flight, ending);
      case 'handed-over':
        return settleHandedOver(attempt, flight, ending.response);
      case 'lost': {
        const outcome = aftermath.lost(attempt, ending.record);
        aftermath.leave(attempt, flight, outcome);
        return outcome;
      }
      case 'not-started':
        emit?.({ type: 'transaction-not-started', ...about(attempt), error: ending.error });
        return giveBack(attempt, flight);
      case 'stopped':
        return stopped(attempt, flight, ending);
      case 'unclear':
        emit?.({ type: 'commit-unclear', ...about(attempt), error: ending.error });
        aftermath.leave(attempt, flight, null);
        return { kind: 'unknown', retryAfterMs: retryAfter(attempt.settings.claimTtlMs) };
      default:
        return ending satisfies never;
    }
  }

  /** Nothing is left to write. */
  function settleCommitted(
    attempt: RunningAttempt,
    flight: Flight,
    { to, reason, response, stored, expiresAt }: Extract<Ending, { kind: 'committed' }>,
  ): Outcome {
    attempt.unrecorded = null;
    aftermath.finished(attempt, { to, proof: null, reason }, null);
    if (to === 'completed') aftermath.noteLength(attempt, null);
    const outcome: Executed = {
      kind: 'executed',
      attempt: attempt.number,
      state: to,
      stored: true,
      response,
      expiresAt,
      error: null,
    };
    aftermath.leave(attempt, flight, { ...outcome, response: stored });
    return outcome;
  }

  /** The record waits for its worker: the answer is this caller's alone. */
  function settleHandedOver(attempt: RunningAttempt, flight: Flight, response: StoredResponse): Outcome {
    attempt.unrecorded = null;
    emit?.({ type: 'handed-over', ...about(attempt) });
    aftermath.leave(attempt, flight, { kind: 'pending', retryAfterMs: retryAfter(0) });
    const { number } = attempt;
    return {
      kind: 'executed',
      attempt: number,
      state: 'pending',
      stored: true,
      response,
      expiresAt: null,
      error: null,
    };
  }

  /** It goes on later from its steps, or somebody has to settle it. */
  async function stopped(
    attempt: RunningAttempt,
    flight: Flight,
    { to, reason, error }: Extract<Ending, { kind: 'stopped' }>,
  ): Promise<Outcome> {
    const unknown: Outcome = { kind: 'unknown', retryAfterMs: retryAfter(attempt.settings.reconcileAfterMs) };
    // If this cannot be written, the claim ends by itself, and the next attempt finds the same steps.
    if (to !== null) {
      const isUnfit = isLeftToCode({ state: to, reason });
      // What was settled of its open effect is so for code that fits it, too.
      const isSettled = isUnfit && attempt.resumed?.proof === 'settled';
      const proof = isSettled ? 'settled' : to === 'retryable' ? 'policy' : null;
      const conclusion: Conclusion = { to, proof, reason, response: null, unbind: false };
      const sentAt = world.monotonicNow();
      const result = await aftermath.save(attempt, conclusion).catch(() => null);
      if (result === null && reason === ENDED_INSIDE) {
        // No step tells the next attempt, which would run what stands already.
        answers.keepSaving(attempt, flight, conclusion, { kind: 'threw', error, response: null }, sentAt);
        return unknown;
      }
      if (result?.kind === 'refused') {
        // What its transaction committed stands beside what somebody else has done.
        if (reason === ENDED_INSIDE)
          aftermath.contradicts(attempt, { wanted: to, found: result.record?.state ?? null, reason });
        const outcome = aftermath.lost(attempt, result.record);
        aftermath.leave(attempt, flight, outcome);
        return outcome;
      }
      if (isUnfit) options.unfit.note(attempt);
      if (result !== null) aftermath.finished(attempt, conclusion, sentAt);
    }
    aftermath.leave(attempt, flight, null);
    return to === 'unknown'
      ? unknown
      : { kind: 'in-progress', retryAfterMs: retryAfter(to === null ? attempt.settings.claimTtlMs : 0) };
  }

  /** The handler did not run: the next request may try at once. */
  async function giveBack(attempt: RunningAttempt, flight: Flight): Promise<Outcome> {
    // If this cannot be written now, it is written as soon as the record is seen.
    if (attempt.unrecorded === null)
      await aftermath
        .save(attempt, NOT_STARTED)
        .catch(() => options.abandoned.addGranted(attempt.id, attempt.fence, attempt.operation));
    aftermath.leave(attempt, flight, null);
    return unavailable('store');
  }

  return {
    settle,
    ...createUnanswered(options, aftermath),
    contradicts: (attempt, what) => aftermath.contradicts(attempt, what),
  };
}

/**
 * An end after which the record would run again by itself, of a handler that said that it does not know what it did.
 */
function asUnknown(ending: Ending): Ending {
  switch (ending.kind) {
    case 'not-started':
    case 'stopped':
    case 'unclear':
      return ending.error === undefined
        ? { kind: 'answered', response: responseOf(500) }
        : { kind: 'threw', error: ending.error, response: responseOf(500) };
    default:
      return ending;
  }
}

const NOT_STARTED: Conclusion = {
  to: 'retryable',
  proof: 'declared',
  reason: 'not-started',
  response: null,
  unbind: false,
};
