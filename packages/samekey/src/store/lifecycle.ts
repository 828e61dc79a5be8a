/** The lifecycle of the Store seam: keeping a store in order, and moving on what nobody moves. */

import type { Fence, RecordId, SamekeyRecord } from '../core/record.ts';
import type { FencedId, HandResult } from './operator-store.ts';

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
   * How long a record is left alone after its second attempt has ended, doubled with each further one, in milliseconds;
   * default
   * 0. After the first, and after a word of a reconciler or an operator, it is due at once.
   */
  readonly backoffMinMs?: number;
  /** At most; default `backoffMinMs`. */
  readonly backoffMaxMs?: number;
  /** Only what comes after this one, for paging: one that an earlier page ended with. Null: from the beginning. */
  readonly after?: DuePlace | null;
}

/** Where a record stands among those that are due: by `createdAt`, then by the bytes of scope and key. */
type DuePlace = Pick<SamekeyRecord, 'createdAt' | 'scope' | 'key'>;

/** Keeping the store in order. */
export interface LifecycleStore {
  /**
   * Ends claims that are over, what was never begun by its deadline, and outcomes that nobody came to know; at most
   * `limit`. However many sweep at once, each record is swept, and told, once.
   */
  sweep(limit: number, options?: SweepOptions): Promise<readonly Swept[]>;
  /**
   * Records that a worker may push on: accepted and not begun, or resumable with their input stored; the oldest first,
   * in the order of `DuePlace`. Looks only; whoever begins one claims it. Also what cannot be opened, which others are
   * not to be kept out by.
   */
  due(request: DueRequest): Promise<readonly SamekeyRecord[]>;
  /**
   * Unknown outcomes that are due, the longest due first: none is due again before `leaseMs` have passed, and each has
   * one inquiry more. Two that take at once never get the same one. When the reply is lost, they are due again after
   * the lease.
   */
  takeUnknown(request: TakeUnknownRequest): Promise<readonly SamekeyRecord[]>;
  /** Leaves unknown outcomes to a later look, or to an operator. */
  postpone(requests: readonly PostponeRequest[]): Promise<readonly HandResult[]>;
  /**
   * Deletes records past retention and tombstone time, at most `limit`; never `pending`, `in_progress`, `unknown`, or
   * one with an open intent.
   */
  reap(limit: number): Promise<Reaped>;
}
