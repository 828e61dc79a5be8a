/** The operator's part of the Store seam: acts by hand, and what a person wants to see. */

import type { Fence, RecordId, SamekeyRecord, State } from '../core/record.ts';
import type { StoredResponse } from '../core/response.ts';
import type { AuditStore, ByHand } from './audit.ts';

/** An outcome nobody knew, decided by a reconciler or an operator. */
export interface SettleRequest extends RecordId, Fence, ByHand {
  readonly to: 'completed' | 'failed' | 'retryable';
  readonly response: StoredResponse | null;
  /**
   * Refused until the claim has been over for this long by the store's clock, in milliseconds; default 0. For
   * `retryable`: a call may be under way that nobody sees yet.
   */
  readonly claimEndedForMs?: number;
  /**
   * Refused after this time by the store's clock, in milliseconds since 1970: what was found out then says nothing any
   * more.
   */
  readonly notAfter?: number;
  /**
   * With `retryable`: the steps with the result of the open effect, which is not open any more; the next attempt goes
   * on behind it.
   */
  readonly newSteps?: string;
}

/** Names a record as its caller saw it; the write happens only if it still is that. */
export interface FencedId extends RecordId, Fence {}

/** As `FinishResult`, for writes by hand. */
export type HandResult =
  | { readonly kind: 'applied' | 'already' }
  | { readonly kind: 'refused'; readonly record: SamekeyRecord | null };

/** Which records an operator wants to see; newest first. */
export interface ListRequest {
  readonly states?: readonly State[];
  readonly operation?: string;
  /** The whole scope of a record, with its operation. */
  readonly scope?: string;
  /** The caller's part of a scope, encoded (`encodeScope(parts, null)`): whatever the operation. */
  readonly caller?: string;
  /** Not indexed by itself: reads the whole table, so give `caller` or `scope` too where they are known. */
  readonly key?: string;
  /** Only records created before this time, for paging. */
  readonly createdBefore?: number;
  /** 1–1000; default 100. */
  readonly limit?: number;
}

/** An act by hand on one record. */
export interface HandRequest extends FencedId, ByHand {}

/** A final failure opened again. */
export interface ReopenRequest extends HandRequest {
  /**
   * For an outcome that nobody came to know (`outcome-never-known`): whoever reopens it says that nothing happened.
   * Refused without.
   */
  readonly effect?: 'none';
}

/** A record dropped. */
export interface ForgetRequest extends HandRequest {
  /**
   * What was seen: a finish that comes late keeps the fence and makes an answer of a `retryable` record. Refused where
   * the record is in another state by then.
   */
  readonly state: State;
  /**
   * For what may have happened (`outcome-never-known`, or an effect that was begun and never ended): whoever forgets it
   * says that nothing did. Refused without.
   */
  readonly effect?: 'none';
}

/** Whose records are to lose what they hold. */
export interface EraseRequest extends ByHand {
  /** The caller's part of the scope, as `callerScope` encodes it: everything before the `|`. */
  readonly scope: string;
  /** Records of this call at most. */
  readonly limit: number;
}

/**
 * `erased`: how many records this call has emptied. `left`: how many of the caller's still hold something, because of
 * the limit, because somebody works on them, or because nobody knows their outcome: call again later.
 */
export interface EraseResult {
  readonly erased: number;
  readonly left: number;
}

/**
 * The operator's hand and eyes. Acts by hand say why and leave a row in the audit in the same write; refused ones leave
 * none.
 */
export interface OperatorStore extends AuditStore {
  /**
   * `unknown` → `completed`, `failed` or `retryable`. `already`: settled before to the same, byte for byte; what was
   * settled otherwise is `refused`. Throws `OptionsError` for another state, and for an answer that does not pass the
   * gate or does not fit its state.
   */
  settle(requests: readonly SettleRequest[]): Promise<readonly HandResult[]>;
  /**
   * `failed` → `retryable` under a fence of its own, with at least one more attempt. If its answer could be replayed,
   * no claim is granted for `REOPEN_DELAY_MS`: other processes may answer from what they read until then.
   */
  reopen(requests: readonly ReopenRequest[]): Promise<readonly HandResult[]>;
  /**
   * Drops a final or retryable record: the key acts as never used. If its answer could be replayed, what identifies the
   * key stays for `REOPEN_DELAY_MS` and is met as "in progress".
   */
  forget(requests: readonly ForgetRequest[]): Promise<readonly HandResult[]>;
  /**
   * Empties a caller's records: answers, inputs, steps and fingerprints go, and so do the dead letters of these
   * records. Their keys stay as tombstones that never expire: they never run again, and are met as "answer not stored".
   * A row in the audit for each.
   */
  erase(request: EraseRequest): Promise<EraseResult>;
  list(request: ListRequest): Promise<readonly SamekeyRecord[]>;
  count(): Promise<Readonly<Record<State, number>>>;
}
