/**
 * Stores what a handler answered, or that it threw, and gives the answer that the record then stands for.
 *
 * Invariants: an answer that could not be stored in time leaves marked as such, and is kept and stored later (F3) · an
 * attempt whose record has moved on never gives its own answer, nor that of another request.
 */

import type { Aftermath, SettlerOptions } from './aftermath.ts';
import type { RunningAttempt } from '../attempt.ts';
import { type Conclusion, conclude, isLost, type OpenEnding } from './conclude.ts';
import { isStoreError } from '../../core/errors.ts';
import type { Flight } from '../flight.ts';
import { notStored } from '../meeting.ts';
import type { Executed, Outcome } from '../../core/outcome.ts';
import { isFinal, type SamekeyRecord } from '../../core/record.ts';
import { about } from '../renewer.ts';
import { sameResponse } from '../../core/response.ts';
import type { FinishResult } from '../../store/store.ts';

/** What stores answers. */
interface AnswerSaving {
  settleOpen(attempt: RunningAttempt, flight: Flight, ending: OpenEnding): Promise<Outcome>;
  /** The answer leaves unstored: the process keeps it and keeps saving; the claim is renewed meanwhile. */
  keepSaving(
    attempt: RunningAttempt,
    flight: Flight,
    conclusion: Conclusion,
    ending: OpenEnding,
    sentAt: number,
  ): void;
}

/** Makes it. */
export function createAnswerSaving(options: SettlerOptions, aftermath: Aftermath): AnswerSaving {
  const { world, emit } = options;

  async function settleOpen(attempt: RunningAttempt, flight: Flight, ending: OpenEnding): Promise<Outcome> {
    const conclusion = conclude(attempt, ending, options.recordSizeMaxBytes);
    if (world.probe !== undefined) await world.probe('finish.before', attempt.id);
    const sentAt = world.monotonicNow();
    let result: FinishResult;
    try {
      result = await aftermath.save(attempt, conclusion);
    } catch (error) {
      if (!isStoreError(error)) {
        aftermath.leave(attempt, flight, null);
        throw error;
      }
      keepSaving(attempt, flight, conclusion, ending, sentAt);
      return told(attempt, conclusion, ending, null);
    }
    if (world.probe !== undefined) await world.probe('finish.applied', attempt.id);
    const outcome = outcomeOfFinish(attempt, conclusion, ending, { result, sentAt });
    aftermath.leave(attempt, flight, asStored(outcome, conclusion));
    return outcome;
  }

  function keepSaving(
    attempt: RunningAttempt,
    flight: Flight,
    conclusion: Conclusion,
    ending: OpenEnding,
    sentAt: number,
  ): void {
    emit?.({ type: 'save-delayed', ...about(attempt) });
    attempt.onTimeUp = null;
    const { response } = conclusion;
    flight.unsaved =
      response === null || response.body === null ? null : { response, attempt: attempt.number };
    options.track(
      aftermath.keep(attempt, conclusion).then((result) => {
        if (result === null) {
          emit?.({ type: 'save-abandoned', ...about(attempt) });
          return aftermath.leave(attempt, flight, null);
        }
        const outcome = outcomeOfFinish(attempt, conclusion, ending, { result, sentAt });
        if (outcome.kind === 'executed' || outcome.kind === 'response-not-stored')
          emit?.({ type: 'save-recovered', ...about(attempt) });
        return aftermath.leave(attempt, flight, asStored(outcome, conclusion));
      }),
    );
  }

  /** The record has been written, or has moved on without this attempt: then its own answer must not leave. */
  function outcomeOfFinish(
    attempt: RunningAttempt,
    conclusion: Conclusion,
    ending: OpenEnding,
    { result, sentAt }: { readonly result: FinishResult; readonly sentAt: number },
  ): Outcome {
    if (result.kind === 'applied' || result.kind === 'already') {
      aftermath.finished(attempt, conclusion, sentAt);
      if (conclusion.to === 'completed') aftermath.noteLength(attempt, sentAt);
      return told(attempt, conclusion, ending, result.expiresAt);
    }
    const record = result.kind === 'refused' ? result.record : null;
    // Somebody settled this very attempt as it was: nothing contradicts. An equal answer of another attempt does: both
    // ran.
    if (record !== null && isFinal(record) && record.state === conclusion.to && isOf(record, attempt)) {
      if (sameResponse(record.response, conclusion.response)) {
        return told(attempt, conclusion, ending, record.expiresAt);
      }
    }
    // An attempt proven without effect contradicts nothing, whatever became of the record.
    if (conclusion.to !== 'retryable') {
      const { to: wanted, reason } = conclusion;
      aftermath.contradicts(attempt, { wanted, found: record?.state ?? null, reason });
    }
    return aftermath.lost(attempt, record);
  }

  /**
   * The handler's own answer. One whose value cannot be stored is nobody's: its first caller is told what every retry
   * is told (F66).
   */
  function told(
    attempt: RunningAttempt,
    conclusion: Conclusion,
    ending: OpenEnding,
    expiresAt: number | null,
  ): Outcome {
    const { to: state, response } = conclusion;
    if (!isLost(ending) || (state !== 'completed' && state !== 'failed'))
      return executed(attempt, conclusion, ending, expiresAt);
    return notStored(state, response, expiresAt ?? world.wallNow() + attempt.settings.retentionMs);
  }

  return { settleOpen, keepSaving };
}

/** What duplicates are told: the answer as it is stored, which may be without its body. */
function asStored(outcome: Outcome, { response }: Conclusion): Outcome {
  return outcome.kind === 'executed' ? { ...outcome, response } : outcome;
}

function isOf(record: SamekeyRecord, { fence }: RunningAttempt): boolean {
  return record.claimId === fence.claimId && record.attempt === fence.attempt;
}

/** The handler's own answer; `expiresAt` null when it is not stored yet. */
function executed(
  attempt: RunningAttempt,
  conclusion: Conclusion,
  ending: OpenEnding,
  expiresAt: number | null,
): Executed {
  return {
    kind: 'executed',
    attempt: attempt.number,
    state: conclusion.to,
    stored: expiresAt !== null,
    response: ending.response,
    expiresAt,
    error: ending.kind === 'threw' ? { thrown: ending.error } : null,
  };
}
