/**
 * The state table of messages: pure, (message, command, now) → what to write. SQLite applies it as it is; stores that
 * speak in conditional statements are compared with it by the outbox contract.
 *
 * Invariants: nothing but its lease moves a leased message, until the lease has ended · `started` grows before a
 * handler is called, `finished` only by the word of a worker · `proven` never exceeds `finished`.
 */

import type { DeadRequest, Lease, NewMessage, RetryRequest, StoredMessage, TakeRequest } from '../message.ts';
import { type Fence, reopenedClaimId, type SamekeyRecord } from '../../core/record.ts';

/** A new message's row. */
export function decideEnqueue(message: NewMessage, place: number, now: number): StoredMessage {
  const { delayMs, reference: _reference, ...rest } = message;
  return {
    ...rest,
    place,
    state: 'ready',
    parked: false,
    dueAt: now + delayMs,
    createdAt: now,
    started: 0,
    finished: 0,
    proven: 0,
    forgiven: 0,
    leaseId: null,
    providerId: null,
    lastError: null,
  };
}

/** Whether its last delivery was begun and never ended. */
export function isSuspect(message: StoredMessage): boolean {
  return message.started > message.finished;
}

/** Whether it has had all its deliveries. */
export function isExhausted(message: StoredMessage, deliveriesMax: number): boolean {
  return message.started - message.forgiven >= deliveriesMax;
}

/** Whether an earlier delivery may have taken effect, seen from the one that is running. */
export function mayHaveRunBefore({ started, proven }: StoredMessage, exhausted = false): boolean {
  return started - (exhausted ? 0 : 1) > proven;
}

/**
 * A due message: with its worker, or parked because one of its group is ahead. `over`: the lease it stands under has
 * ended. Undefined: it is not to be had.
 */
export function decideTake(
  message: StoredMessage,
  request: Pick<TakeRequest, 'leaseId' | 'leaseMs' | 'deliveriesMax'>,
  { now, over, isHead }: { readonly now: number; readonly over: boolean; readonly isHead: boolean },
): StoredMessage | undefined {
  const due = message.state === 'ready' ? !message.parked && message.dueAt <= now : over;
  if (message.state === 'dead' || !due) return undefined;
  if (!isHead) return { ...message, parked: true };
  return {
    ...message,
    state: 'leased',
    leaseId: request.leaseId,
    dueAt: now + request.leaseMs,
    started: message.started + (isExhausted(message, request.deliveriesMax) ? 0 : 1),
  };
}

/** Whether the delivery still holds the message. */
export function holds(message: StoredMessage | null, lease: Lease): message is StoredMessage {
  return (
    message !== null &&
    message.state === 'leased' &&
    message.leaseId === lease.leaseId &&
    message.started === lease.started
  );
}

/**
 * Back in line, or handed back as if it had not been taken: what was a suspect then is one still, under a lease that is
 * over and nobody's. In line it would be taken together with others of its kind.
 */
export function decideRetry(message: StoredMessage, request: RetryRequest, now: number): StoredMessage {
  const begun = request.begun ? 1 : 0;
  const started = message.started - (1 - begun);
  const finished = message.finished + begun;
  return {
    ...message,
    state: !request.begun && started > finished ? 'leased' : 'ready',
    leaseId: null,
    dueAt: now + request.delayMs,
    started,
    finished,
    proven: message.proven + (request.proven ? begun : 0),
    lastError: request.error ?? message.lastError,
  };
}

/** Given up. */
export function decideDead(message: StoredMessage, request: DeadRequest, now: number): StoredMessage {
  const begun = request.begun ? 1 : 0;
  return {
    ...message,
    state: 'dead',
    leaseId: null,
    dueAt: now,
    finished: message.finished + begun,
    proven: message.proven + (request.proven ? begun : 0),
    lastError: request.error ?? message.lastError,
  };
}

/**
 * Whether a dead letter may be delivered again, by the record of the attempt that handed it over. A message of its own
 * is owed for ever. One that is a request's work is not delivered beside what was decided since: not if that attempt is
 * done or without effect, if another has begun, or if the record is gone with all that it knew (F142). Nor does
 * delivering again change what was answered: a failed request has to be reopened first, with its reason (F148).
 */
export function mayRequeue({ owner }: Pick<StoredMessage, 'owner'>, record: SamekeyRecord | null): boolean {
  if (owner === null) return true;
  if (record === null) return false;
  if (isOf(record, owner)) return record.state === 'unknown' || record.state === 'pending';
  const reopened = { ...owner, claimId: reopenedClaimId(owner.claimId) };
  return isOf(record, reopened) && record.state === 'retryable';
}

function isOf(record: Fence, { claimId, attempt }: Fence): boolean {
  return record.claimId === claimId && record.attempt === attempt;
}

/**
 * Once more, with all its deliveries before it again; in a group it comes last. `record`: of its attempt as it was.
 * What was reopened may still be replayed from memory elsewhere, and is not done beside that.
 */
export function decideRequeue(
  message: StoredMessage,
  place: number,
  now: number,
  record: Pick<SamekeyRecord, 'state' | 'lockedUntil'> | null,
): StoredMessage {
  return {
    ...message,
    place: message.group === null ? message.place : place,
    state: 'ready',
    parked: false,
    dueAt: message.owner !== null && record?.state === 'retryable' ? Math.max(now, record.lockedUntil) : now,
    // What a dead worker left open is settled by whoever requeued it: it is not held to be a suspect any more.
    finished: message.started,
    forgiven: message.started,
  };
}
