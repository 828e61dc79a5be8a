/** What the owner of an attempt may write: it goes on, notes, gives away, ends. Each under its fence. */

import { checkEnds } from '../ends.ts';
import {
  type Fence,
  isHandedOver,
  PHASES_CHANGED,
  type RecordId,
  reopenedClaimId,
  type SamekeyRecord,
} from '../../core/record.ts';
import type {
  CheckpointRequest,
  CheckpointResult,
  FinishRequest,
  FinishResult,
  HandResult,
  RenewRequest,
  RenewResult,
} from '../store.ts';
import {
  CLAIM_ENDED,
  type Decision,
  EXHAUSTED,
  lifeAfter,
  NEVER,
  NEVER_KNOWN,
  refused,
  sameFence,
  type View,
} from './decision.ts';

/**
 * The owner goes on: more time, also when it was given up for `unknown` too early. What it called unknown itself stays
 * so: a renewal that was under way then must not hand the record to the end of its claim.
 */
export function decideRenew(
  record: SamekeyRecord | null,
  request: RenewRequest,
  view: View,
): Decision<RenewResult> {
  // Given up with this claimId still on it, it is unsettled: its owner is alive and takes it back.
  const owned =
    sameFence(record, request) &&
    (record.state === 'in_progress' || (record.state === 'unknown' && record.reason === CLAIM_ENDED));
  if (!owned) return { write: undefined, result: { kind: 'lost', record } };
  return {
    write: {
      ...record,
      state: 'in_progress',
      claimTtlMs: request.claimTtlMs,
      lockedUntil: view.now + request.claimTtlMs,
      renewals: record.renewals + 1,
      reason: null,
      reconcileAfter: null,
      inquiries: 0,
    },
    result: { kind: 'renewed' },
  };
}

/**
 * The owner notes what it has done so far, under the conditions of a renewal; upon `renewals` only where nothing was
 * written since.
 */
export function decideCheckpoint(
  record: SamekeyRecord | null,
  request: CheckpointRequest,
  view: View,
): Decision<CheckpointResult> {
  const { write } = decideRenew(record, request, view);
  const isOvertaken = request.renewals !== undefined && record?.renewals !== request.renewals;
  if (!write || isOvertaken) return { write: undefined, result: { kind: 'refused', record } };
  return {
    write: {
      ...write,
      recoveryPoint: request.recoveryPoint,
      steps: request.steps,
      intentAt: intentAtOf(write, request, view),
    },
    result: { kind: 'applied' },
  };
}

function intentAtOf(
  { intentAt }: SamekeyRecord,
  { intentOpen, isSameIntent }: CheckpointRequest,
  { now }: View,
): number | null {
  if (!intentOpen) return null;
  return isSameIntent === true ? intentAt : now;
}

/** The owner gives its attempt to the worker of a message, in the transaction that enqueues it. */
export function decideHandOver(
  record: SamekeyRecord | null,
  request: RecordId & Fence,
  _view: View,
): Decision<HandResult> {
  if (!sameFence(record, request)) return refused(record);
  if (record.state === 'pending') return { write: undefined, result: { kind: 'already' } };
  if (record.state !== 'in_progress') return refused(record);
  return { write: { ...record, state: 'pending', lockedUntil: NEVER }, result: { kind: 'applied' } };
}

/**
 * The dead letter of an attempt is to be delivered again: its record waits for that, and nobody settles, reopens or
 * forgets it meanwhile. In the write that makes the message ready. One that was reopened gets back the claimId that the
 * message carries.
 */
export function decideHandOverAgain(
  record: SamekeyRecord | null,
  request: RecordId & Fence,
  _view: View,
): Decision<HandResult> {
  const isReopened = sameFence(record, { ...request, claimId: reopenedClaimId(request.claimId) });
  if (!isReopened && !sameFence(record, request)) return refused(record);
  if (isHandedOver(record)) return { write: undefined, result: { kind: 'already' } };
  if (record.state !== (isReopened ? 'retryable' : 'unknown')) return refused(record);
  return {
    write: {
      ...record,
      claimId: request.claimId,
      state: 'pending',
      lockedUntil: NEVER,
      proof: null,
      reason: null,
      response: null,
      reconcileAfter: null,
      inquiries: 0,
      finishedAt: null,
    },
    result: { kind: 'applied' },
  };
}

/** Reasons that somebody else than the owner writes, or may have written. */
const BY_OTHERS: ReadonlySet<string> = new Set([EXHAUSTED, CLAIM_ENDED, NEVER_KNOWN, PHASES_CHANGED]);

/**
 * Whether somebody found out what became of its open effect and settled it so: the next attempt goes on from the
 * result. An owner that says (again, because a reply was lost) that it does not know has nothing against that. Its
 * word would undo the settlement, and leave an unknown outcome without anything to ask about.
 */
function isFoundOut({ state, proof, steps, intentAt }: SamekeyRecord): boolean {
  return state === 'retryable' && proof === 'settled' && steps !== null && intentAt === null;
}

/** The owner says how its attempt ended. */
export function decideFinish(
  record: SamekeyRecord | null,
  request: FinishRequest,
  view: View,
): Decision<FinishResult> {
  checkEnds([request]);
  if (!sameFence(record, request)) return { write: undefined, result: { kind: 'refused', record } };
  // What somebody else decided under this fence is not this attempt's own earlier write.
  const byOthers = record.proof === 'settled' || (record.reason !== null && BY_OTHERS.has(record.reason));
  if (record.state === request.to && !byOthers) {
    return { write: undefined, result: { kind: 'already', expiresAt: record.expiresAt } };
  }
  // Also from `unknown` and `retryable`: as long as nobody re-claimed, an answer beats an absence.
  const open = request.handedOver
    ? isHandedOver(record)
    : record.state === 'in_progress' || record.state === 'unknown' || record.state === 'retryable';
  if (!open) return { write: undefined, result: { kind: 'refused', record } };
  if (request.to === 'unknown' && isFoundOut(record))
    return { write: undefined, result: { kind: 'refused', record } };
  const final = request.to === 'completed' || request.to === 'failed';
  const written: SamekeyRecord = {
    ...record,
    state: request.to,
    // What kept a reopened key from running too early goes on to, whatever its late owner makes of it.
    lockedUntil:
      record.state === 'in_progress' || record.state === 'pending'
        ? view.now
        : Math.max(record.lockedUntil, view.now),
    proof: request.proof,
    reason: request.reason,
    response: request.response,
    fingerprint: request.unbindFingerprint ? null : record.fingerprint,
    reconcileAfter: request.to === 'unknown' ? view.now + request.reconcileAfterMs : null,
    inquiries: 0,
    finishedAt: final ? view.now : null,
    expiresAt: lifeAfter(record, view) + request.extendMs,
    intentAt: final ? null : record.intentAt,
  };
  return { write: written, result: { kind: 'applied', expiresAt: written.expiresAt } };
}
