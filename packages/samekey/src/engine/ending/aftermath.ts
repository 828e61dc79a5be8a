/**
 * What every end of an attempt has in common: its write, within its time, and what follows in this process. The claim
 * is kept no longer, duplicates are told, and what happened is an event.
 *
 * Invariants: what contradicts is told, never silent · an attempt whose record has moved on gives the answer of what
 * stands there.
 */

import type { Abandoned } from '../abandoned.ts';
import type { RunningAttempt } from '../attempt.ts';
import { type Conclusion, finishRequest } from './conclude.ts';
import type { Dispatch } from '../dispatch.ts';
import type { Emit } from '../events.ts';
import type { Flight, Flights } from '../flight.ts';
import { asForRetry, metOnly } from '../meeting.ts';
import { contradictionRow, type Noter } from './noter.ts';
import { type Outcome, retryAfter } from '../../core/outcome.ts';
import type { SamekeyRecord, State } from '../../core/record.ts';
import type { Recording } from '../recording.ts';
import { about, type Renewer } from '../renewer.ts';
import type { Saver } from './saver.ts';
import type { ChangeHints, FinishResult } from '../../store/store.ts';
import type { Unfit } from '../unfit.ts';
import type { UsualLengths } from '../usual.ts';
import type { World } from '../../core/world.ts';

/** What an attempt wanted to make of its record, and what stands there; null: it is gone, or nobody could look. */
export interface Contradiction {
  readonly wanted: State;
  readonly found: State | null;
  readonly reason: string | null;
  /** The effect whose call ended late. */
  readonly effect?: string;
}

/** What settling needs. */
export interface SettlerOptions {
  readonly world: World;
  readonly dispatch: Dispatch;
  readonly recording: Pick<Recording, 'finish'>;
  readonly renewer: Renewer;
  readonly abandoned: Pick<Abandoned, 'addGranted'>;
  readonly saver: Saver;
  readonly hints: ChangeHints | undefined;
  /** The newest record format that is read. */
  readonly readVersion: number;
  readonly flights: Flights;
  readonly saveTimeMaxMs: number;
  readonly recordSizeMaxBytes: number | null;
  readonly emit: Emit;
  readonly noter: Noter;
  readonly usual: Pick<UsualLengths, 'note'>;
  readonly unfit: Pick<Unfit, 'note'>;
  /** Counts background work, so that `close` waits for it. */
  track(work: Promise<unknown>): void;
}

/** Of a conclusion, what stands in the record besides the answer. */
type End = Pick<Conclusion, 'to' | 'proof' | 'reason'>;

/** What every end has in common. */
export interface Aftermath {
  /** Writes the end, within its time. */
  save(attempt: RunningAttempt, conclusion: Conclusion): Promise<FinishResult>;
  /** Writes the end for as long as it is kept; null when it was given up. */
  keep(attempt: RunningAttempt, conclusion: Conclusion): Promise<FinishResult | null>;
  /** Tells that its end stands in the record; `sentAt` null when a transaction had written it. */
  finished(attempt: RunningAttempt, end: End, sentAt: number | null): void;
  /** The attempt has succeeded: its length is worth knowing. */
  noteLength(attempt: RunningAttempt, sentAt: number | null): void;
  /** Tells what does not fit: by an event, and by a row of the audit. */
  contradicts(attempt: RunningAttempt, what: Contradiction): void;
  /** The record has moved on: what this attempt's caller is told of what stands there. */
  lost(attempt: RunningAttempt, record: SamekeyRecord | null): Outcome;
  /** Lets go of the claim; duplicates that wait are told the outcome, or ask the store where it is null. */
  leave(attempt: RunningAttempt, flight: Flight, outcome: Outcome | null): void;
}

/** Makes it. */
export function createAftermath(options: SettlerOptions): Aftermath {
  const { world, dispatch, renewer, flights, emit } = options;

  function save(
    attempt: RunningAttempt,
    conclusion: Conclusion,
    deadline: number = world.monotonicNow() + options.saveTimeMaxMs,
  ): Promise<FinishResult> {
    return attempt.unrecorded === null
      ? dispatch.finish(finishRequest(attempt, conclusion), deadline)
      : options.recording.finish(attempt, conclusion, deadline);
  }

  function keep(attempt: RunningAttempt, conclusion: Conclusion): Promise<FinishResult | null> {
    return options.saver.keep(conclusion.response, (deadline) => save(attempt, conclusion, deadline));
  }

  /** Tells that its end stands in the record; `sentAt` as for {@link times}. */
  function finished(attempt: RunningAttempt, { to, proof, reason }: End, sentAt: number | null): void {
    emit?.({ type: 'finished', ...about(attempt), to, proof, reason, ...times(attempt, sentAt) });
  }

  /** `sentAt` is when the end was first sent to the store, null when a transaction had written it. */
  function times(attempt: RunningAttempt, sentAt: number | null): { durationMs: number; claimAgeMs: number } {
    const now = world.monotonicNow();
    return { durationMs: sentAt === null ? 0 : now - sentAt, claimAgeMs: now - attempt.startedAt };
  }

  /** The attempt has succeeded: its length is worth knowing. */
  function noteLength({ operation, startedAt }: RunningAttempt, sentAt: number | null): void {
    options.usual.note(operation, (sentAt ?? world.monotonicNow()) - startedAt);
  }

  function contradicts(attempt: RunningAttempt, { wanted, found, reason, effect }: Contradiction): void {
    const what = effect === undefined ? {} : { effect };
    emit?.({ type: 'contradiction', ...about(attempt), wanted, found, ...what });
    options.track(options.noter.note(contradictionRow({ ...about(attempt), wanted, found, reason })));
  }

  /** The record has moved on: this attempt's caller is told what stands there. */
  function lost(attempt: RunningAttempt, record: SamekeyRecord | null): Outcome {
    attempt.lost = true;
    emit?.({ type: 'fence-lost', ...about(attempt), found: record?.state ?? null });
    return record === null
      ? { kind: 'in-progress', retryAfterMs: retryAfter(0) }
      : asForRetry(record, attempt, options.readVersion);
  }

  function leave(attempt: RunningAttempt, flight: Flight, outcome: Outcome | null): void {
    renewer.remove(attempt);
    options.hints?.changed(attempt.id);
    flights.close(flight, outcome === null ? null : metOnly(outcome));
  }

  return { save, keep, finished, noteLength, contradicts, lost, leave };
}
