/**
 * Records how an attempt ended, and gives the answer that the record stands for.
 *
 * Invariants: an attempt whose record has moved on never gives its own answer, nor that of another request · an answer
 * that could not be stored in time leaves marked as such, and is kept and stored later (F3) · what contradicts is told,
 * never silent.
 */

import type { Abandoned } from './abandoned.ts';
import type { Ending, RunningAttempt } from './attempt.ts';
import { type Conclusion, conclude, finishRequest, isLost, type OpenEnding } from './conclude.ts';
import type { Dispatch } from './dispatch.ts';
import { isStoreError } from '../core/errors.ts';
import type { Emit } from './events.ts';
import type { Flight, Flights } from './flight.ts';
import { metOnly, notStored, outcomeOfRecord, unavailable } from './meeting.ts';
import { contradictionRow, type Noter } from './noter.ts';
import { type Executed, type Outcome, retryAfter } from '../core/outcome.ts';
import { ENDED_INSIDE, isFinal, isLeftToCode, type SamekeyRecord, type State } from '../core/record.ts';
import { about, type Renewer } from './renewer.ts';
import { response as responseOf, sameResponse, type StoredResponse } from '../core/response.ts';
import type { Saver } from './saver.ts';
import type { ChangeHints, FinishResult } from '../store/store.ts';
import type { Unfit } from './unfit.ts';
import type { UsualLengths } from './usual.ts';
import type { World } from '../core/world.ts';

/** What settles. */
export interface Settler {
  /** The attempt ended. */
  settle(attempt: RunningAttempt, flight: Flight, ending: Ending): Promise<Outcome>;
  /** The attempt's time is up and nothing was answered. */
  timeUp(attempt: RunningAttempt, flight: Flight): Promise<Outcome>;
  /** The handler says that it does not know, after the end of its attempt was recorded. */
  saidLate(attempt: RunningAttempt): Promise<void>;
  /** Tells what does not fit: by an event, and by a row of the audit. */
  contradicts(attempt: RunningAttempt, what: Contradiction): void;
}

/** What an attempt wanted to make of its record, and what stands there; null: it is gone, or nobody could look. */
interface Contradiction {
  readonly wanted: State;
  readonly found: State | null;
  readonly reason: string | null;
  /** The effect whose call ended late. */
  readonly effect?: string;
}

/** What the settler needs. */
interface SettlerOptions {
  readonly world: World;
  readonly dispatch: Dispatch;
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

/** Makes the settler of one engine. */
export function createSettler(options: SettlerOptions): Settler {
  const { world, dispatch, renewer, saver, flights, emit } = options;

  async function settle(attempt: RunningAttempt, flight: Flight, ended: Ending): Promise<Outcome> {
    const ending = attempt.saidUnknown === null ? ended : asUnknown(ended);
    switch (ending.kind) {
      case 'answered':
      case 'threw':
        return settleOpen(attempt, flight, ending);
      case 'committed':
        return settleCommitted(attempt, flight, ending);
      case 'handed-over':
        return settleHandedOver(attempt, flight, ending.response);
      case 'lost': {
        const outcome = lost(attempt, flight, ending.record);
        leave(attempt, flight, outcome);
        return outcome;
      }
      case 'not-started':
        emit?.({ type: 'transaction-not-started', ...about(attempt), error: ending.error });
        return giveBack(attempt, flight);
      case 'stopped':
        return stopped(attempt, flight, ending);
      case 'unclear':
        emit?.({ type: 'commit-unclear', ...about(attempt), error: ending.error });
        leave(attempt, flight, null);
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
    emit?.({ type: 'finished', ...about(attempt), to, proof: null, reason, ...times(attempt, null) });
    if (to === 'completed') noteLength(attempt, null);
    const outcome: Executed = {
      kind: 'executed',
      attempt: attempt.number,
      state: to,
      stored: true,
      response,
      expiresAt,
      error: null,
    };
    leave(attempt, flight, { ...outcome, response: stored });
    return outcome;
  }

  /** The record waits for its worker: the answer is this caller's alone. */
  function settleHandedOver(attempt: RunningAttempt, flight: Flight, response: StoredResponse): Outcome {
    emit?.({ type: 'handed-over', ...about(attempt) });
    leave(attempt, flight, { kind: 'pending', retryAfterMs: retryAfter(0) });
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
      const result = await save(attempt, conclusion).catch(() => null);
      if (result === null && reason === ENDED_INSIDE) {
        // No step tells the next attempt, which would run what stands already.
        keepSaving(attempt, flight, conclusion, { kind: 'threw', error, response: null }, sentAt);
        return unknown;
      }
      if (result?.kind === 'refused') {
        const outcome = lost(attempt, flight, result.record);
        leave(attempt, flight, outcome);
        return outcome;
      }
      if (isUnfit) options.unfit.note(attempt);
      if (result !== null)
        emit?.({ type: 'finished', ...about(attempt), to, proof, reason, ...times(attempt, sentAt) });
    }
    leave(attempt, flight, null);
    return to === 'unknown'
      ? unknown
      : { kind: 'in-progress', retryAfterMs: retryAfter(to === null ? attempt.settings.claimTtlMs : 0) };
  }

  /** The handler did not run: the next request may try at once. */
  async function giveBack(attempt: RunningAttempt, flight: Flight): Promise<Outcome> {
    // If this cannot be written now, it is written as soon as the record is seen.
    await save(attempt, NOT_STARTED).catch(() =>
      options.abandoned.addGranted(attempt.id, attempt.fence, attempt.operation),
    );
    leave(attempt, flight, null);
    return unavailable('store');
  }

  async function settleOpen(attempt: RunningAttempt, flight: Flight, ending: OpenEnding): Promise<Outcome> {
    const conclusion = conclude(attempt, ending, options.recordSizeMaxBytes);
    if (world.probe !== undefined) await world.probe('finish.before', attempt.id);
    const sentAt = world.monotonicNow();
    let result: FinishResult;
    try {
      result = await save(attempt, conclusion);
    } catch (error) {
      if (!isStoreError(error)) {
        leave(attempt, flight, null);
        throw error;
      }
      keepSaving(attempt, flight, conclusion, ending, sentAt);
      return told(attempt, conclusion, ending, null);
    }
    if (world.probe !== undefined) await world.probe('finish.applied', attempt.id);
    const outcome = outcomeOfFinish(attempt, flight, conclusion, ending, { result, sentAt });
    leave(attempt, flight, asStored(outcome, conclusion));
    return outcome;
  }

  async function timeUp(attempt: RunningAttempt, flight: Flight): Promise<Outcome> {
    // A resumable record is left to the end of its claim: until then nothing may run beside the hung handler.
    if (attempt.settings.whenClaimEnds === 'resume' && attempt.saidUnknown === null) {
      leave(attempt, flight, null);
      return { kind: 'in-progress', retryAfterMs: retryAfter(attempt.settings.claimTtlMs) };
    }
    // If this cannot be written, the claim ends by itself with the same result.
    const { saidUnknown } = attempt;
    // Its handler is still at work: the reason must not pass for that of one that has ended.
    const conclusion = saidUnknown === null ? HUNG : { ...HUNG, reason: `${HUNG.reason}: ${saidUnknown}` };
    const result = await save(attempt, conclusion).catch(() => undefined);
    leave(attempt, flight, null);
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
      result = await save(attempt, conclusion);
    } catch (error) {
      if (!isStoreError(error)) throw error;
      result = await saver.keep(finishRequest(attempt, conclusion));
    }
    const { to, reason } = conclusion;
    if (result?.kind === 'applied')
      emit?.({ type: 'finished', ...about(attempt), to, proof: null, reason, ...times(attempt, sentAt) });
    else if (result?.kind !== 'already') {
      const record = result?.kind === 'refused' ? result.record : null;
      contradicts(attempt, { wanted: to, found: record?.state ?? null, reason });
    }
    options.hints?.changed(attempt.id);
  }

  function save(attempt: RunningAttempt, conclusion: Conclusion): Promise<FinishResult> {
    return dispatch.finish(finishRequest(attempt, conclusion), world.monotonicNow() + options.saveTimeMaxMs);
  }

  /** The answer leaves unstored: the process keeps it and keeps saving; the claim is renewed meanwhile. */
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
      saver.keep(finishRequest(attempt, conclusion)).then((result) => {
        if (result === null) {
          emit?.({ type: 'save-abandoned', ...about(attempt) });
          return leave(attempt, flight, null);
        }
        const outcome = outcomeOfFinish(attempt, flight, conclusion, ending, { result, sentAt });
        if (outcome.kind === 'executed' || outcome.kind === 'response-not-stored')
          emit?.({ type: 'save-recovered', ...about(attempt) });
        return leave(attempt, flight, asStored(outcome, conclusion));
      }),
    );
  }

  /** The record has been written, or has moved on without this attempt: then its own answer must not leave. */
  function outcomeOfFinish(
    attempt: RunningAttempt,
    flight: Flight,
    conclusion: Conclusion,
    ending: OpenEnding,
    { result, sentAt }: { readonly result: FinishResult; readonly sentAt: number },
  ): Outcome {
    if (result.kind === 'applied' || result.kind === 'already') {
      const { to, proof, reason } = conclusion;
      emit?.({ type: 'finished', ...about(attempt), to, proof, reason, ...times(attempt, sentAt) });
      if (to === 'completed') noteLength(attempt, sentAt);
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
      contradicts(attempt, { wanted, found: record?.state ?? null, reason });
    }
    return lost(attempt, flight, record);
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

  function contradicts(attempt: RunningAttempt, { wanted, found, reason, effect }: Contradiction): void {
    const what = effect === undefined ? {} : { effect };
    emit?.({ type: 'contradiction', ...about(attempt), wanted, found, ...what });
    options.track(options.noter.note(contradictionRow({ ...about(attempt), wanted, found, reason })));
  }

  /** The record has moved on: this attempt's caller is told what stands there. */
  function lost(attempt: RunningAttempt, flight: Flight, record: SamekeyRecord | null): Outcome {
    emit?.({ type: 'fence-lost', ...about(attempt), found: record?.state ?? null });
    return record === null
      ? { kind: 'in-progress', retryAfterMs: retryAfter(0) }
      : asForRetry(record, attempt, options.readVersion);
  }

  /** For `finished`: `sentAt` is when the end was first sent to the store, null when a transaction had written it. */
  function times(attempt: RunningAttempt, sentAt: number | null): { durationMs: number; claimAgeMs: number } {
    const now = world.monotonicNow();
    return { durationMs: sentAt === null ? 0 : now - sentAt, claimAgeMs: now - attempt.startedAt };
  }

  /** The attempt has succeeded: its length is worth knowing. */
  function noteLength({ operation, startedAt }: RunningAttempt, sentAt: number | null): void {
    options.usual.note(operation, (sentAt ?? world.monotonicNow()) - startedAt);
  }

  function leave(attempt: RunningAttempt, flight: Flight, outcome: Outcome | null): void {
    renewer.remove(attempt);
    options.hints?.changed(attempt.id);
    flights.close(flight, outcome === null ? null : metOnly(outcome));
  }

  return { settle, timeUp, saidLate, contradicts };
}

/**
 * What a retry would be told by the record that stands there now. It may be another request's: the key was unbound by
 * this very attempt, or forgotten, or it expired.
 */
function asForRetry(
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

/** What duplicates are told: the answer as it is stored, which may be without its body. */
function asStored(outcome: Outcome, { response }: Conclusion): Outcome {
  return outcome.kind === 'executed' ? { ...outcome, response } : outcome;
}

function isOf(record: SamekeyRecord, { fence }: RunningAttempt): boolean {
  return record.claimId === fence.claimId && record.attempt === fence.attempt;
}

const SAID_LATE = 'after-its-end';

const HUNG: Conclusion = {
  to: 'unknown',
  proof: null,
  reason: 'attempt-time-up',
  response: null,
  unbind: false,
};

const NOT_STARTED: Conclusion = {
  to: 'retryable',
  proof: 'declared',
  reason: 'not-started',
  response: null,
  unbind: false,
};

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
