/** The hot path of the Store seam: what each request needs. */

import type {
  Fence,
  Fingerprint,
  Proof,
  RecordId,
  SamekeyRecord,
  Unreadable,
  WhenClaimEnds,
} from '../core/record.ts';
import type { NewReference } from './references.ts';
import type { StoredResponse } from '../core/response.ts';

/** Asks for the exclusive right to run one attempt. Repeating it with the same claimId is safe. */
export interface ClaimRequest extends RecordId {
  readonly operation: string;
  readonly claimId: string;
  readonly claimTtlMs: number;
  readonly fingerprint: Fingerprint;
  readonly whenClaimEnds: WhenClaimEnds;
  readonly retentionMs: number;
  readonly replayMinMs: number;
  readonly tombstoneMs: number;
  readonly attemptMax: number;
  /** Written with a fresh record; one that is there keeps its own if that is newer. */
  readonly formatVersion: number;
  /** The newest format that whoever asks can read: what is newer is found, and says so. */
  readonly readVersion: number;
  /**
   * `run`: to run the attempt now. `accept`: only to note the request, as `pending`, for a worker; a key that is known
   * is `found`. `take`: a worker's, which may also begin what is `pending`.
   */
  readonly entry: 'run' | 'accept' | 'take';
  /** The operation's input, if a worker may push it on; written with a fresh key only. */
  readonly input: Uint8Array | null;
  /** For `accept`: never begun by then, the record fails; in milliseconds. */
  readonly pendingTimeMaxMs: number;
  /**
   * Whether this code goes on from recorded steps. Default false: what a record holds decides, so one with steps is
   * then not granted, whoever asks and however (F109).
   */
  readonly takesSteps?: boolean;
}

/** What an earlier attempt left behind. */
export interface Resumed {
  readonly proof: Proof | null;
  readonly reason: string | null;
  /** As {@link SamekeyRecord.steps}. */
  readonly steps: string | null;
  /**
   * How long ago the intent was stored whose result is not, at least, by the store's clock, in milliseconds; null
   * without one.
   */
  readonly intentAgeMs: number | null;
  /**
   * The same at the most: a clock that is ahead is not believed, and what a provider has forgotten must not be called
   * again (F71).
   */
  readonly intentAgeMaxMs: number | null;
  /** The steps could not be opened: the attempt must be given back. */
  readonly unreadable?: Unreadable;
}

/** Why a claim was not granted, in order of precedence (contract §4.3). */
export type FoundReason =
  | 'newer-format'
  | 'unreadable'
  | 'expired'
  | 'other-label'
  | 'mismatch'
  | 'final'
  | 'unknown'
  | 'pending'
  | 'in-progress'
  | 'exhausted'
  | 'spent';

/**
 * `claimed`: the attempt may run. `accepted`: noted as `pending`. `found`: it may not, and the record says why;
 * `claimLeftMs` is what the living claim has left, or the time until a reopened or forgotten key may run (0 unless in
 * progress); `lifeLeftMs` is how long a final answer may still be replayed, by the store's clock (0 unless final).
 * `busy`: the row was locked, ask again with the next flush. `full`: the store takes no new key.
 */
export type ClaimResult =
  | {
      readonly kind: 'claimed';
      readonly attempt: number;
      readonly createdAt: number;
      readonly expiresAt: number;
      /** What the attempt before left, when this one resumes. */
      readonly resumed: Resumed | null;
    }
  | { readonly kind: 'accepted'; readonly createdAt: number; readonly expiresAt: number }
  | {
      readonly kind: 'found';
      readonly because: FoundReason;
      readonly record: SamekeyRecord;
      readonly claimLeftMs: number;
      /**
       * How long the attempt has held its claim, or the request has been pending, in milliseconds (`attemptAgeMs`);
       * else 0.
       */
      readonly ageMs: number;
      readonly lifeLeftMs: number;
      /**
       * Set by a store that answers from what was read earlier: for how long that may still be trusted, in
       * milliseconds. Whoever keeps the answer keeps it no longer, or trusts would add up beyond what a reopened key
       * waits (F62). Absent: it was read now.
       */
      readonly trustLeftMs?: number;
    }
  | { readonly kind: 'busy' }
  | { readonly kind: 'full' };

/** Extends a claim, or takes it back from `unknown` when its owner turns out to be alive. */
export interface RenewRequest extends RecordId, Fence {
  readonly claimTtlMs: number;
}

/** `renewed`, or `lost` with the record that was found instead (null when there is none). */
export type RenewResult =
  | { readonly kind: 'renewed' }
  | { readonly kind: 'lost'; readonly record: SamekeyRecord | null }
  | { readonly kind: 'busy' };

/** What a running attempt has done so far; also a renewal. */
export interface CheckpointRequest extends RecordId, Fence {
  readonly claimTtlMs: number;
  readonly recoveryPoint: string | null;
  /**
   * All steps so far: the attempt is the only one that writes them. Null when there is none: an emptied list is no step
   * (F76).
   */
  readonly steps: string | null;
  /** Whether the last step is an effect whose result is not known. */
  readonly intentOpen: boolean;
  /** That effect stood there before: its intent stays as old as it is. Default false: it is as old as this write. */
  readonly isSameIntent?: boolean;
  /**
   * The record's `renewals` that it was made upon: found with others it is refused, so that what arrives late cannot
   * put older steps over newer ones. Absent within a transaction, whose commit puts it in order.
   */
  readonly renewals?: number | undefined;
  /**
   * What a webhook may find the record by from now on; written with it by a store that has `references`, and by no
   * other. Never within a transaction, where nobody is called.
   */
  readonly reference?: NewReference | undefined;
}

/**
 * As `FinishResult`. A repeat writes the same again; upon `renewals` it is refused with the record, which says what
 * stands there.
 */
export type CheckpointResult =
  | { readonly kind: 'applied' }
  | { readonly kind: 'refused'; readonly record: SamekeyRecord | null }
  | { readonly kind: 'busy' };

/** The end of an attempt, told by its owner. */
export interface FinishRequest extends RecordId, Fence {
  readonly to: 'completed' | 'failed' | 'retryable' | 'unknown';
  readonly proof: Proof | null;
  readonly reason: string | null;
  readonly response: StoredResponse | null;
  /** Forget the fingerprint, so that the client may correct its request; with `retryable` only. */
  readonly unbindFingerprint: boolean;
  /** Lengthens the retention by this much, in milliseconds. */
  readonly extendMs: number;
  /** For `unknown`: look at it again after this much, in milliseconds. */
  readonly reconcileAfterMs: number;
  /** Told by the worker that the attempt was handed over to: the record is `pending`, and only then it is written. */
  readonly handedOver: boolean;
}

/**
 * `applied`: written now. `already`: this very attempt had written this state before (its reply was lost). `refused`:
 * something else stands there, nothing was changed.
 */
export type FinishResult =
  | { readonly kind: 'applied' | 'already'; readonly expiresAt: number }
  | { readonly kind: 'refused'; readonly record: SamekeyRecord | null }
  | { readonly kind: 'busy' };

/** The hot path: what each request needs. */
export interface HotStore {
  claim(requests: readonly ClaimRequest[]): Promise<readonly ClaimResult[]>;
  renew(requests: readonly RenewRequest[]): Promise<readonly RenewResult[]>;
  finish(requests: readonly FinishRequest[]): Promise<readonly FinishResult[]>;
  checkpoint(requests: readonly CheckpointRequest[]): Promise<readonly CheckpointResult[]>;
  /** Reads records as they are; presence is proof, absence is not. Expired ones are returned too, until reaped. */
  find(ids: readonly RecordId[]): Promise<readonly (SamekeyRecord | null)[]>;
}
