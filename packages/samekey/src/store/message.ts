/**
 * Messages of the outbox (contract §5.7): rows committed with the business write, delivered later by a worker. And the
 * seam a store offers for them. Verbs are bulk, as those of records are; an expected result is never an exception.
 *
 * Invariants: whoever takes a message holds it under a lease (`leaseId`, and the number of the delivery), and every
 * later write carries both in its own condition · time is the store's, counted from the statement and not from its
 * transaction (F46) · a message is found by its state, never by "after the last number" (F51).
 */

import type { ByHand, NewAuditRow } from './audit.ts';
import type { RecordId, SamekeyRecord, Unreadable } from '../core/record.ts';
import type { FencedId, FinishRequest } from './store.ts';

/** `ready`: waits for its time. `leased`: with a worker. `dead`: given up, kept until somebody requeues or drops it. */
export type MessageState = 'ready' | 'leased' | 'dead';

/** All states of messages. */
export const MESSAGE_STATES: readonly MessageState[] = ['ready', 'leased', 'dead'];

/** A message as it is stored. Times are milliseconds since 1970 by the store's clock. */
export interface StoredMessage {
  /** Random and never used again: the downstream key is made of it. */
  readonly id: string;
  /** Its place in the table; in a group, places follow commits. */
  readonly place: number;
  readonly topic: string;
  /** Messages of one group are delivered one after the other, in the order of their places. */
  readonly group: string | null;
  /** JSON. */
  readonly payload: string;
  /** JSON object of texts; null for none. */
  readonly headers: string | null;
  readonly state: MessageState;
  /** Met behind another of its group: not looked at again until that one has gone. */
  readonly parked: boolean;
  /** `ready`: not before. `leased`: when the lease ends. `dead`: when it died. */
  readonly dueAt: number;
  readonly createdAt: number;
  /** Deliveries begun; written before the handler is called. */
  readonly started: number;
  /** Deliveries that came to an end a worker told; `started` above it: a worker died with it. */
  readonly finished: number;
  /** Those of them that are proven without effect. */
  readonly proven: number;
  /** Deliveries that no longer count against the bound, because it was requeued. */
  readonly forgiven: number;
  readonly leaseId: string | null;
  /** What the provider called it, recorded before the message was done (F53). */
  readonly providerId: string | null;
  readonly lastError: string | null;
  /** The attempt that was handed over with it; its end is written by the worker. */
  readonly owner: FencedId | null;
  /** Set where payload or headers are sealed and could not be opened: the payload is then `null`. */
  readonly unreadable?: Unreadable;
}

/** A message to enqueue. */
export interface NewMessage {
  readonly id: string;
  readonly topic: string;
  readonly group: string | null;
  readonly payload: string;
  readonly headers: string | null;
  /** From the statement's own time, in milliseconds. */
  readonly delayMs: number;
  readonly owner: FencedId | null;
  /**
   * Of the key that its deliveries carry, if it has an owner: leads to the owner's record. Written as with a
   * checkpoint.
   */
  readonly reference?: string | undefined;
}

/** A provider's id of a delivery. */
export interface NoteRequest extends Lease {
  readonly providerId: string;
  /** Of that id, if the message has an owner. */
  readonly reference?: string | undefined;
}

/** Names a delivery; every write of its worker must match it. */
export interface Lease {
  readonly id: string;
  readonly place: number;
  readonly leaseId: string;
  /** Deliveries begun when it was taken, this one included. */
  readonly started: number;
}

/** Asks for messages that are due. */
export interface TakeRequest {
  /** In the order they are looked at. */
  readonly topics: readonly string[];
  readonly limit: number;
  /** New for each take. */
  readonly leaseId: string;
  readonly leaseMs: number;
  /** Of these, at most so many whose last delivery was begun and never ended: they may have killed their worker. */
  readonly suspectsMax: number;
  /** A message with so many deliveries is not begun again: it comes back as `exhausted`. */
  readonly deliveriesMax: number;
}

/** A message that was taken. */
export interface TakenMessage extends StoredMessage {
  readonly leaseId: string;
  /** Not begun: it has had all its deliveries, and the worker must write it off. */
  readonly exhausted: boolean;
}

/** What a take gave. */
export interface TakeResult {
  /** In the order they were due. */
  readonly taken: readonly TakenMessage[];
  /** Whether more may be due now. */
  readonly more: boolean;
  /** When the next one is due, in milliseconds from now; null when there is none; only with `more` false. */
  readonly nextDueMs: number | null;
}

/** A delivery that succeeded: the message goes. */
export interface DoneRequest extends Lease {
  /** The end of the attempt that was handed over, written in the same transaction. */
  readonly record: FinishRequest | null;
}

/** A delivery that failed and may be tried again. */
export interface RetryRequest extends Lease {
  readonly delayMs: number;
  readonly error: string | null;
  /** Whether it is proven that the delivery had no effect. */
  readonly proven: boolean;
  /** False: handed back before the handler was called; it does not count as a delivery. */
  readonly begun: boolean;
}

/** A message that is given up. */
export interface DeadRequest extends Lease {
  readonly error: string | null;
  readonly proven: boolean;
  /** False for an exhausted message: its last delivery had no end, and none was begun now. */
  readonly begun: boolean;
  readonly record: FinishRequest | null;
}

/**
 * `applied`. `lost`: the lease is over and somebody else has the message, or it is gone. `contradiction`: applied, but
 * the record that was handed over had already moved on and was left as it is.
 */
export type LeaseResult = 'applied' | 'lost' | 'contradiction';

/** Which messages an operator wants to see, in the order of their places. */
export interface MessageListRequest {
  readonly states?: readonly MessageState[];
  readonly topic?: string;
  /** Only those of an attempt of this record that was handed over; reads the whole table. */
  readonly owner?: RecordId;
  /** Only places after this one, for paging. */
  readonly after?: number;
  /** 1–1000; default 100. */
  readonly limit?: number;
}

/** How many messages there are of one topic in one state. */
export interface MessageCount {
  readonly topic: string;
  readonly state: MessageState;
  readonly count: number;
}

/** Where messages live. Throws `StoreError` only. */
export interface MessageStore {
  /** Puts messages in by themselves; inside a transaction it is `within(tx).enqueue`. */
  enqueue(messages: readonly NewMessage[]): Promise<void>;
  take(request: TakeRequest): Promise<TakeResult>;
  /** Lengthens leases, from now on. */
  extend(leases: readonly Lease[], leaseMs: number): Promise<readonly LeaseResult[]>;
  done(requests: readonly DoneRequest[]): Promise<readonly LeaseResult[]>;
  retry(requests: readonly RetryRequest[]): Promise<readonly LeaseResult[]>;
  dead(requests: readonly DeadRequest[]): Promise<readonly LeaseResult[]>;
  /** Records what the provider called it, before the message is done. */
  note(requests: readonly NoteRequest[]): Promise<readonly LeaseResult[]>;
  /**
   * Dead letters become ready again, in a group at its end; gives the ids of those that did. Each leaves a row in the
   * audit, by the same write, and so does the record of an attempt that was handed over become `pending` again. Left as
   * they are: those whose attempt has been decided or answered since, or whose record is gone (`mayRequeue`).
   */
  requeue(ids: readonly string[], by: ByHand): Promise<readonly string[]>;
  /** Deletes dead letters; gives the ids of those that are gone. Each leaves a row in the audit, by the same write. */
  drop(ids: readonly string[], by: ByHand): Promise<readonly string[]>;
  list(request: MessageListRequest): Promise<readonly StoredMessage[]>;
  count(): Promise<readonly MessageCount[]>;
  /** Puts right what a process left that died between two statements; gives how many messages. */
  tidy(): Promise<number>;
  /** Calls `heard` when messages may have come in; a hint, never the word of the store. Returns what ends it. */
  listen?(heard: () => void): () => void;
  /** A worker is about to sleep and wants to be woken. */
  idle?(): Promise<void>;
}

/**
 * The row that a message leaves in the audit which was requeued or dropped: under its record's key, else under its own
 * id. `record`: of its attempt, as it was; dropping changes nothing of it.
 */
export function messageRow(
  act: 'requeue' | 'drop',
  { id, owner }: Pick<StoredMessage, 'id' | 'owner'>,
  record: Pick<SamekeyRecord, 'operation' | 'state'> | null,
  { reason, actor }: ByHand,
): NewAuditRow {
  const from = owner === null ? null : (record?.state ?? null);
  return {
    scope: owner?.scope ?? '',
    key: owner?.key ?? id,
    operation: owner === null ? null : (record?.operation ?? null),
    attempt: owner?.attempt ?? 0,
    act,
    from,
    to: act === 'requeue' && from !== null ? 'pending' : from,
    reason,
    actor,
  };
}

/** The record, if it still is that of the attempt that handed the message over. */
export function ofAttempt(
  { owner }: Pick<StoredMessage, 'owner'>,
  record: SamekeyRecord | null,
): SamekeyRecord | null {
  const isIt = record !== null && owner?.claimId === record.claimId && owner.attempt === record.attempt;
  return isIt ? record : null;
}

/** A store that keeps messages too. */
export interface StoreWithMessages {
  readonly messages: MessageStore;
}

/**
 * A take that meets a message behind another of its group parks so many more of that group with it: else a long group
 * would have to be met message by message, and keep all that stands behind it in the line waiting (F149).
 */
export const PARKED_MAX = 1_000;

/** Longest JSON of one message, in bytes. */
export const PAYLOAD_MAX_BYTES: number = 256 * 1024;

/** What the downstream key of a message is a digest of. */
export function messageKeyText(id: string): string {
  return `samekey-message\n${id}`;
}
