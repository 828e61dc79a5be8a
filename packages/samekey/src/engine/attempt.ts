/**
 * One run of a handler: what the handler sees of it, and what the engine keeps beside it.
 */

import { FenceLostError, isNotExecutedError, isOutcomeUnknownError } from '../core/errors.ts';
import type { Fence, Fingerprint, Proof, RecordId, SamekeyRecord } from '../core/record.ts';
import type { StoredResponse } from '../core/response.ts';
import { SAID_UNKNOWN, unknownReason } from './said-unknown.ts';
import type { ClaimRequest, Resumed } from '../store/store.ts';
import type { OperationSettings } from '../core/settings.ts';

/** How a handler ended. `response` of a throw is what a client should see of it, if the policy stores it. */
export type Ending =
  | {
      readonly kind: 'answered';
      /** For the first client; what is stored of it passes the gate (`stored-response.ts`). */
      readonly response: StoredResponse;
      /** Why its value cannot be stored: the body is lost, the handler has answered all the same. */
      readonly error?: unknown;
      /** Its transaction was rolled back: whatever was answered, nothing happened. */
      readonly rolledBack?: boolean;
      /** Somebody else may have answered for the handler, as a time-out does: that it has ended is not proven. */
      readonly isPerhapsAnothers?: boolean;
    }
  | {
      readonly kind: 'threw';
      readonly error: unknown;
      readonly response: StoredResponse | null;
      readonly rolledBack?: boolean;
      /** It ended and had answered nothing: whatever the policy says of a throw, no proof that nothing happened. */
      readonly isSilent?: boolean;
      /** False: a `NotExecutedError` is a throw like any other, because earlier steps are stored. */
      readonly mayDeclare?: boolean;
    }
  /** Its record was written together with its work, in one transaction that is committed. */
  | {
      readonly kind: 'committed';
      readonly to: 'completed' | 'failed';
      readonly reason: string | null;
      /** For the first client. */
      readonly response: StoredResponse;
      /** What the record holds of it. */
      readonly stored: StoredResponse | null;
      readonly expiresAt: number;
    }
  /**
   * Its record was given to the worker of a message, in one transaction that is committed; the answer is the first
   * caller's.
   */
  | { readonly kind: 'handed-over'; readonly response: StoredResponse }
  /** Nothing could be begun (no connection, no BEGIN): the handler did not run. */
  | { readonly kind: 'not-started'; readonly error: unknown }
  /** Inside its transaction it found that the record is no longer its own; rolled back. */
  | { readonly kind: 'lost'; readonly record: SamekeyRecord | null }
  /**
   * A phased attempt stops before its end: `retryable` may go on from its steps, `unknown` must be settled; null leaves
   * the record to the end of its claim.
   */
  | {
      readonly kind: 'stopped';
      readonly to: 'retryable' | 'unknown' | null;
      readonly reason: string;
      readonly error: unknown;
    }
  /** The answer to COMMIT was lost, and it could not be found out in time whether it was done. */
  | { readonly kind: 'unclear'; readonly error: unknown };

/** What a handler is told of its attempt, and may say about it. */
export interface Attempt {
  /** From 1; the fence. */
  readonly number: number;
  readonly operation: string;
  readonly scope: string;
  readonly key: string;
  /** Aborted when the attempt's time is up or its claim was lost: what it writes from then on may not count. */
  readonly signal: AbortSignal;
  /** Why an earlier attempt may be repeated; null for the first. */
  readonly resumed: { readonly proof: Proof | null; readonly reason: string | null } | null;
  /**
   * Declares that nothing happened: the record becomes `retryable` whatever is answered. With `correctable` the client
   * may also change its request under the same key.
   */
  notExecuted(options?: { readonly correctable?: boolean }): void;
  /**
   * Says that nobody knows whether it took effect: the record becomes `unknown` whatever is answered or thrown and
   * whatever the policy says, and is asked about at once. It wins over `notExecuted` and cannot be taken back. Writes
   * of a transaction are rolled back. It counts once the handler has ended; said later still, because somebody had
   * answered in the handler's place, it counts at once, unless the record is final or another attempt has begun: that
   * is told as a contradiction. `reason` is a remark for people, kept with the record: 200 characters of one line, no
   * secrets.
   */
  unknown(reason: string): void;
  /** Lengthens the record's retention by `ms` at completion, for clients known to be slow. */
  extend(ms: number): void;
}

const NOTHING_LEFT: Resumed = {
  proof: null,
  reason: null,
  steps: null,
  intentAgeMs: null,
  intentAgeMaxMs: null,
};

/** Tells an attempt what an error declares that its framework answers for: whether it had an effect. */
export function tellDeclared(attempt: Pick<Attempt, 'notExecuted' | 'unknown'>, error: unknown): void {
  if (isNotExecutedError(error)) attempt.notExecuted({ correctable: error.correctable });
  else if (isOutcomeUnknownError(error)) attempt.unknown(error.reason);
}

/** An attempt, and whether it has said by itself what became of it: then no status decides that. */
export interface HeardAttempt extends Attempt {
  readonly hasSpoken: boolean;
}

/** The engine's side of an attempt. */
export class RunningAttempt implements HeardAttempt {
  readonly id: RecordId;
  readonly operation: string;
  readonly settings: OperationSettings;
  fence: Fence;
  readonly resumed: Attempt['resumed'];
  /** Steps that earlier attempts left; their results are nobody's but the handler's. */
  readonly left: Pick<Resumed, 'steps' | 'intentAgeMs' | 'intentAgeMaxMs' | 'unreadable'>;
  /** What the record is bound to. */
  readonly fingerprint: Fingerprint;
  /** When the record was made, by the store's clock. */
  readonly createdAt: number;
  readonly startedAt: number;
  /**
   * When the last renewal that was granted had been sent (monotonic): the claim lasts at least its length from here.
   */
  renewedAt: number;
  /** The same moment on the wall clock, for whoever asks how long the claim still lasts. */
  renewedWallAt: number;
  /** How often the claim was renewed, as far as this process knows: what a checkpoint is made upon. */
  renewals = 0;
  /** The renewal that is under way. */
  renewing: Promise<void> | null = null;
  /** Whether renewals stand still: an open transaction would fail on a row that changed under its snapshot. */
  held = false;
  /** The claim that its transaction stands for: the key is reserved by it, and there is no record yet. */
  unrecorded: ClaimRequest | null = null;
  /** Whether it is known that the key is somebody else's by now. */
  lost = false;
  declared: { readonly correctable: boolean } | null = null;
  /** The reason to keep, if the handler said that it does not know whether it took effect. */
  saidUnknown: string | null = null;
  /** Called once when it says so after its end has been recorded. */
  onSaidLate: ((attempt: RunningAttempt) => void) | null = null;
  extendMs = 0;
  /** Called once by the renewer when the attempt's time is up. */
  onTimeUp: (() => void) | null = null;
  /** Called once by the renewer when the claim turned out to be somebody else's. */
  onLost: (() => void) | null = null;
  #abort: AbortController | null = null;
  #aborted: Error | null = null;

  constructor(
    id: RecordId,
    operation: string,
    settings: OperationSettings,
    fence: Fence,
    granted: {
      readonly resumed: Resumed | null;
      readonly createdAt: number;
      readonly fingerprint: Fingerprint;
      /** When the claim was sent, by the wall clock. */
      readonly sentWallAt: number;
    },
    startedAt: number,
  ) {
    this.id = id;
    this.operation = operation;
    this.settings = settings;
    this.fence = fence;
    const { proof, reason, ...left } = granted.resumed ?? NOTHING_LEFT;
    this.resumed = granted.resumed === null ? null : { proof, reason };
    this.left = left;
    this.createdAt = granted.createdAt;
    this.fingerprint = granted.fingerprint;
    this.startedAt = startedAt;
    this.renewedAt = startedAt;
    this.renewedWallAt = granted.sentWallAt;
  }

  /** It has a record from now on, under a claim that had been sent at this moment and was granted for this number. */
  recorded(attempt: number, sentAt: number, sentWallAt: number): void {
    this.fence = { claimId: this.fence.claimId, attempt };
    this.unrecorded = null;
    this.renewals = 0;
    this.renewedAt = sentAt;
    this.renewedWallAt = sentWallAt;
    this.held = false;
  }

  /** A renewal was granted that had been sent at this moment. */
  renewed(sentAt: number, sentWallAt: number): void {
    this.renewedAt = sentAt;
    this.renewedWallAt = sentWallAt;
    this.renewals += 1;
  }

  get number(): number {
    return this.fence.attempt;
  }

  get scope(): string {
    return this.id.scope;
  }

  get key(): string {
    return this.id.key;
  }

  /** Made when first asked for: most handlers never look. */
  get signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController();
      if (this.#aborted !== null) this.#abort.abort(this.#aborted);
    }
    return this.#abort.signal;
  }

  notExecuted(options: { readonly correctable?: boolean } = {}): void {
    this.declared = { correctable: options.correctable ?? false };
  }

  unknown(reason: string): void {
    if (this.saidUnknown !== null) return;
    this.saidUnknown = unknownReason(SAID_UNKNOWN, reason);
    this.onSaidLate?.(this);
  }

  get hasSpoken(): boolean {
    return this.declared !== null || this.saidUnknown !== null;
  }

  /** The handler threw this: it may say so by that too. */
  hear(thrown: unknown): void {
    if (isOutcomeUnknownError(thrown)) this.unknown(thrown.reason);
  }

  extend(ms: number): void {
    if (Number.isFinite(ms) && ms > 0) this.extendMs = Math.floor(ms);
  }

  /** The handler should stop; what for is the signal's reason. */
  abort(reason: Error = new FenceLostError()): void {
    this.#aborted ??= reason;
    this.#abort?.abort(this.#aborted);
  }
}
