/**
 * The Store seam (architecture §4): verbs are transitions, and they are bulk. One result per request, in the same order;
 * an expected result is never an exception. Every write after a claim carries its fence in its own condition. Time is the
 * store's. A store throws `StoreError` only, and says whether the write may have been applied.
 *
 * What each verb decides is written once, in `machine.ts`; the contract suite in `samekey/testing` holds stores to it.
 */

import type { AuditStore, ByHand } from './audit.ts';
import type {
  Fence,
  Fingerprint,
  Proof,
  RecordId,
  SamekeyRecord,
  State,
  Unreadable,
  WhenClaimEnds,
} from './record.ts';
import type { Counters } from './counters.ts';
import type { StoredResponse } from './response.ts';

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
  readonly formatVersion: number;
  /**
   * `run`: to run the attempt now. `accept`: only to note the request, as `pending`, for a worker; a key that is known is
   * `found`. `take`: a worker's, which may also begin what is `pending`.
   */
  readonly entry: 'run' | 'accept' | 'take';
  /** The operation's input, if a worker may push it on; written with a fresh key only. */
  readonly input: Uint8Array | null;
  /** For `accept`: never begun by then, the record fails; in milliseconds. */
  readonly pendingTimeMaxMs: number;
}

/** What an earlier attempt left behind. */
export interface Resumed {
  readonly proof: Proof | null;
  readonly reason: string | null;
  /** As {@link SamekeyRecord.steps}. */
  readonly steps: string | null;
  /** How long ago the intent was stored whose result is not, by the store's clock, in milliseconds; null without one. */
  readonly intentAgeMs: number | null;
  /** The steps could not be opened: the attempt must be given back. */
  readonly unreadable?: Unreadable;
}

/** Why a claim was not granted, in order of precedence (semantics §4). */
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
 * `claimed`: the attempt may run. `accepted`: noted as `pending`. `found`: it may not, and the record says why; `claimLeftMs` is what the living claim has
 * left, or the time until a reopened or forgotten key may run (0 unless in progress); `lifeLeftMs` is how long a final answer
 * may still be replayed, by the store's clock (0 unless final). `busy`: the row was locked, ask again with the next flush. `full`: the store takes no new key.
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
      readonly lifeLeftMs: number;
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
  /** All steps so far: the attempt is the only one that writes them. */
  readonly steps: string;
  /** Whether the last step is an effect whose result is not known. */
  readonly intentOpen: boolean;
}

/** As `FinishResult`; a repeat writes the same again. */
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

/** An outcome nobody knew, decided by a reconciler or an operator. */
export interface SettleRequest extends RecordId, Fence, ByHand {
  readonly to: 'completed' | 'failed' | 'retryable';
  readonly response: StoredResponse | null;
  /**
   * Refused until the claim has been over for this long by the store's clock, in milliseconds; default 0. For `retryable`: a call may
   * be under way that nobody sees yet.
   */
  readonly claimEndedForMs?: number;
  /** Refused after this time by the store's clock, in milliseconds since 1970: what was found out then says nothing any more. */
  readonly notAfter?: number;
  /** With `retryable`: the steps with the result of the open effect, which is not open any more; the next attempt goes on behind it. */
  readonly newSteps?: string;
}

/** Names a record as its caller saw it; the write happens only if it still is that. */
export interface FencedId extends RecordId, Fence {}

/** As `FinishResult`, for writes by hand. */
export type HandResult =
  | { readonly kind: 'applied' | 'already' }
  | { readonly kind: 'refused'; readonly record: SamekeyRecord | null };

/** Which unknown outcomes a reconciler can ask about. */
export interface TakeUnknownRequest {
  /** Names of the operations it knows, as records have them; null for all. */
  readonly operations: readonly string[] | null;
  /** For how long nobody else is given them, in milliseconds. */
  readonly leaseMs: number;
  readonly limit: number;
}

/** Nothing was learned about an unknown outcome; conditional on the fence and on nobody having taken it since. */
export interface PostponeRequest extends FencedId {
  /** As the take gave it. */
  readonly inquiries: number;
  /** It is due again after this much, in milliseconds; null: given up, an operator must look. */
  readonly afterMs: number | null;
  /** Why it is given up, for people; the record keeps what it says. */
  readonly reason: string | null;
}

/** One record the sweeper moved on. */
export interface Swept extends RecordId, Fence {
  readonly operation: string;
  readonly from: 'in_progress' | 'pending' | 'unknown';
  readonly to: 'unknown' | 'retryable' | 'failed';
  /** What the record says of its end. */
  readonly reason: string | null;
  /** How long its claim or deadline was over, or since when nobody knows, by the store's clock, in milliseconds. */
  readonly ageMs: number;
}

/** Options of a sweep. */
export interface SweepOptions {
  /** How long an outcome stays unknown at most, in milliseconds; default `UNKNOWN_MAX_MS`, 30 days. */
  readonly unknownMaxMs?: number;
}

/** What a reap deleted. */
export interface Reaped {
  readonly count: number;
  /** How many of each record scope; no scope with none. */
  readonly byScope: ReadonlyMap<string, number>;
}

/** Which unfinished records a worker can push on. */
export interface DueRequest {
  /** Names of the operations it knows, as records have them. */
  readonly operations: readonly string[];
  readonly limit: number;
  /**
   * How long a record is left alone after its second attempt has ended, doubled with each further one, in milliseconds; default
   * 0. After the first, and after a word of a reconciler or an operator, it is due at once.
   */
  readonly backoffMinMs?: number;
  /** At most; default `backoffMinMs`. */
  readonly backoffMaxMs?: number;
}

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

export type {
  AuditAct,
  AuditRequest,
  AuditRow,
  AuditStore,
  ByHand,
  NewAuditRow,
  PruneAuditRequest,
} from './audit.ts';

/** What a store can do; each fact says what the engine does when it is false. */
export interface Capabilities {
  /** User transactions on the same database (`within`). False: the transactional way is refused at start. */
  readonly transactions: boolean;
  /** Decides claims by the store's own clock. False: a contender must have watched `renewals` stand still. */
  readonly serverClock: boolean;
  /** Smallest difference of times the store keeps, in milliseconds. */
  readonly timePrecisionMs: number;
  /** Acknowledged records survive a killed process. False: after a restart every key acts as fresh. */
  readonly durable: boolean;
  /** Several processes may share the store. False: duplicates meet only within one process. */
  readonly shared: boolean;
  /** Largest record, in bytes; null for no limit of its own. A larger answer is stored without its body. */
  readonly recordSizeMaxBytes: number | null;
}

/** The hot path: what each request needs. */
export interface HotStore {
  claim(requests: readonly ClaimRequest[]): Promise<readonly ClaimResult[]>;
  renew(requests: readonly RenewRequest[]): Promise<readonly RenewResult[]>;
  finish(requests: readonly FinishRequest[]): Promise<readonly FinishResult[]>;
  checkpoint(requests: readonly CheckpointRequest[]): Promise<readonly CheckpointResult[]>;
  /** Reads records as they are; presence is proof, absence is not. Expired ones are returned too, until reaped. */
  find(ids: readonly RecordId[]): Promise<readonly (SamekeyRecord | null)[]>;
}

/** Keeping the store in order. */
export interface LifecycleStore {
  /**
   * Ends claims that are over, what was never begun by its deadline, and outcomes that nobody came to know; at most `limit`.
   * However many sweep at once, each record is swept, and told, once.
   */
  sweep(limit: number, options?: SweepOptions): Promise<readonly Swept[]>;
  /**
   * Records that a worker may push on: accepted and not begun, or resumable with their input stored; the oldest first. Looks
   * only; whoever begins one claims it.
   */
  due(request: DueRequest): Promise<readonly SamekeyRecord[]>;
  /**
   * Unknown outcomes that are due, the longest due first: none is due again before `leaseMs` have passed, and each has one
   * inquiry more. Two that take at once never get the same one. When the reply is lost, they are due again after the lease.
   */
  takeUnknown(request: TakeUnknownRequest): Promise<readonly SamekeyRecord[]>;
  /** Leaves unknown outcomes to a later look, or to an operator. */
  postpone(requests: readonly PostponeRequest[]): Promise<readonly HandResult[]>;
  /**
   * Deletes records past retention and tombstone time, at most `limit`; never `pending`, `in_progress`, `unknown`, or one with an
   * open intent.
   */
  reap(limit: number): Promise<Reaped>;
}

/** A final failure opened again, or a record dropped. */
export interface HandRequest extends FencedId, ByHand {}

/** Whose records are to lose what they hold. */
export interface EraseRequest extends ByHand {
  /** The caller's part of the scope, as `callerScope` encodes it: everything before the `|`. */
  readonly scope: string;
  /** Records of this call at most. */
  readonly limit: number;
}

/**
 * `erased`: how many records this call has emptied. `left`: how many of the caller's still hold something, because of the limit, because
 * somebody works on them, or because nobody knows their outcome: call again later.
 */
export interface EraseResult {
  readonly erased: number;
  readonly left: number;
}

/** The operator's hand and eyes. Acts by hand say why and leave a row in the audit in the same write; refused ones leave none. */
export interface OperatorStore extends AuditStore {
  /** `unknown` → `completed`, `failed` or `retryable`. */
  settle(requests: readonly SettleRequest[]): Promise<readonly HandResult[]>;
  /**
   * `failed` → `retryable`, with at least one more attempt. If its answer could be replayed, no claim is granted for
   * `REOPEN_DELAY_MS`: other processes may answer from what they read until then.
   */
  reopen(requests: readonly HandRequest[]): Promise<readonly HandResult[]>;
  /**
   * Drops a final or retryable record: the key acts as never used. If its answer could be replayed, what identifies the key
   * stays for `REOPEN_DELAY_MS` and is met as "in progress".
   */
  forget(requests: readonly HandRequest[]): Promise<readonly HandResult[]>;
  /**
   * Empties a caller's records: answers, inputs, steps and fingerprints go, and so do the dead letters of these records. Their keys stay as
   * tombstones that never expire: they never run again, and are met as "answer not stored". A row in the audit for each.
   */
  erase(request: EraseRequest): Promise<EraseResult>;
  list(request: ListRequest): Promise<readonly SamekeyRecord[]>;
  count(): Promise<Readonly<Record<State, number>>>;
}

/**
 * Hints that a record may have changed, for requests that wait for an attempt of another process. A hint is never the word of
 * the store: whoever gets one reads. Both calls return at once and never throw; a hint may be late, lost, or about nothing.
 */
export interface ChangeHints {
  /** Somebody here waits for this record; `changed` is called when it may have changed. Returns what ends it. */
  watch(id: RecordId, changed: () => void): () => void;
  /** This process has changed this record: whoever watches it elsewhere may be told. Costs nothing when nobody does. */
  changed(id: RecordId): void;
}

/** A place where records live. */
export interface Store extends HotStore, LifecycleStore, OperatorStore {
  readonly name: string;
  readonly capabilities: Capabilities;
  /** Absent: requests that wait find out by reading alone. */
  readonly hints?: ChangeHints | undefined;
  /** Absent: callers cannot be limited by how many keys they have stored. */
  readonly counters?: Counters | undefined;
  /**
   * Throws `StoreError` when its caller stands where a call would wait for itself: inside an open transaction that holds the
   * store. Asked before calls are grouped, so that whoever is in the group does not fail with it. Absent: nobody can stand there.
   */
  refuseCaller?(): void;
  /** Checks schema and durability settings; throws `SchemaError` with the command that mends what is wrong. */
  ready(): Promise<void>;
  /** Frees what the store made itself; the user's clients stay open. */
  close(): Promise<void>;
}
