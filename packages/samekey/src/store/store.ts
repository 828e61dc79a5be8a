/**
 * The Store seam (contract §10): verbs are transitions, and they are bulk. One result per request, in the same
 * order; of requests on one record a later one finds what an earlier one has left. An expected result is never an
 * exception. Every write after a claim carries its fence in its own condition. Time is the store's. A store throws
 * `StoreError` only, and says whether the write may have been applied.
 *
 * What each verb decides is written once, in `machine.ts`; the contract suite in `@samekey/testing` holds stores to it.
 */

import type { Counters } from './counters.ts';
import type { StoreIdentity } from './identity.ts';
import type { RecordId } from '../core/record.ts';
import type { References } from './references.ts';
import type { HotStore } from './hot-path.ts';
import type { LifecycleStore } from './lifecycle.ts';
import type { OperatorStore } from './operator-store.ts';

export type {
  AuditAct,
  AuditRequest,
  AuditRow,
  ByHand,
  NewAuditRow,
  PruneAuditRequest,
} from './audit.ts';
export type {
  CheckpointRequest,
  CheckpointResult,
  ClaimRequest,
  ClaimResult,
  FinishRequest,
  FinishResult,
  FoundReason,
  HotStore,
  RenewRequest,
  RenewResult,
  Resumed,
} from './hot-path.ts';
export type {
  DueRequest,
  LifecycleStore,
  PostponeRequest,
  Reaped,
  SweepOptions,
  Swept,
  TakeUnknownRequest,
} from './lifecycle.ts';
export type {
  EraseRequest,
  EraseResult,
  FencedId,
  ForgetRequest,
  HandRequest,
  HandResult,
  ListRequest,
  OperatorStore,
  ReopenRequest,
  SettleRequest,
} from './operator-store.ts';

/** What a store can do; each fact says what the engine does when it is false. */
export interface Capabilities {
  /** User transactions on the same database (`within`). False: the transactional way is refused at start. */
  readonly transactions: boolean;
  /**
   * A key can be reserved by a lock of the transaction that does its work. False: `reserve: 'in-transaction'` is
   * refused at start.
   */
  readonly transactionLock: boolean;
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

/**
 * Hints that a record may have changed, for requests that wait for an attempt of another process. A hint is never the
 * word of the store: whoever gets one reads. Both calls return at once and never throw; a hint may be late, lost, or
 * about nothing.
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
  /**
   * How many calls of one verb are worth having under way at once; default 1, as calls on one connection wait for each
   * other. More where they overlap, and where those on one record take turns by themselves.
   */
  readonly callsAtOnceMax?: number;
  /** Absent: requests that wait find out by reading alone. */
  readonly hints?: ChangeHints | undefined;
  /** Absent: callers cannot be limited by how many keys they have stored. */
  readonly counters?: Counters | undefined;
  /** Absent: whom a webhook is about is looked for in pages of open records and messages. */
  readonly references?: References | undefined;
  /**
   * Tells, each time it begins, that a clock is far off the time that the store's processes share: the server's, or
   * this process's where there is none (`serverClock`); ahead by so many milliseconds, or behind (below 0). Returns
   * what ends it. Absent: the store believes its server at once.
   */
  onClockOff?(told: (offMs: number) => void): () => void;
  /**
   * Throws `StoreError` when its caller stands where a call would wait for itself: inside an open transaction that
   * holds the store. Asked before calls are grouped, so that whoever is in the group does not fail with it. Absent:
   * nobody can stand there.
   */
  refuseCaller?(): void;
  /**
   * Whose keys the store holds, and in which database; throws `SchemaError` when it belongs to another service. Absent:
   * nobody else can reach it, and no cache may be shared in front of it.
   */
  identity?(): Promise<StoreIdentity>;
  /** Checks schema and durability settings; throws `SchemaError` with the command that mends what is wrong. */
  ready(): Promise<void>;
  /** Frees what the store made itself; the user's clients stay open. */
  close(): Promise<void>;
}
