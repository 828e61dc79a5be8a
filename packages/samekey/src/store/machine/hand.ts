/** What an operator or a reconciler may write: settle, reopen, forget, erase. */

import {
  erasedClaimId,
  forgottenClaimId,
  isErased,
  isFinal,
  isForgotten,
  isHandedOver,
  isReplayable,
  REOPEN_DELAY_MS,
  reopenedClaimId,
  type SamekeyRecord,
} from '../../core/record.ts';
import { isSettledAs, settlement } from '../ends.ts';
import type { FencedId, ForgetRequest, HandResult, ReopenRequest, SettleRequest } from '../store.ts';
import {
  type Decision,
  ERASED,
  FORGOTTEN,
  lifeAfter,
  NEVER,
  NEVER_KNOWN,
  refused,
  sameFence,
  type View,
} from './decision.ts';

/**
 * A reconciler or an operator says how an unknown outcome ended. Who says otherwise than was settled is refused (F152).
 */
export function decideSettle(
  record: SamekeyRecord | null,
  given: SettleRequest,
  view: View,
): Decision<HandResult> {
  // Stores ask before they begin, for all at once; here, so that no store can leave it out.
  const request = settlement(given);
  if (!sameFence(record, request) || isForgotten(record)) return refused(record);
  if (isSettledAs(record, request)) return { write: undefined, result: { kind: 'already' } };
  if (record.state !== 'unknown') return refused(record);
  // Of an unknown outcome `lockedUntil` is when its claim ended: in the past, also where a process that has just begun
  // believes an earlier time, in a store without a clock of its own.
  const claimEndedMs = Math.max(0, view.now - record.lockedUntil);
  if (claimEndedMs < (request.claimEndedForMs ?? 0)) return refused(record);
  if (view.now > (request.notAfter ?? view.now)) return refused(record);
  return {
    write: {
      ...record,
      state: request.to,
      proof: 'settled',
      steps: request.newSteps ?? record.steps,
      reason: request.reason,
      response: request.response,
      reconcileAfter: null,
      finishedAt: request.to === 'retryable' ? null : view.now,
      expiresAt: lifeAfter(record, view),
      intentAt: request.to === 'retryable' && request.newSteps === undefined ? record.intentAt : null,
    },
    result: { kind: 'applied' },
  };
}

/**
 * An operator lets a failed key run again: at least once, however many attempts it had. Its fence moves on: whatever
 * the last attempt still sends is refused, and tells of a contradiction. What nobody came to know runs again only on
 * the word that nothing happened.
 */
export function decideReopen(
  record: SamekeyRecord | null,
  request: FencedId & Pick<ReopenRequest, 'reason' | 'effect'>,
  view: View,
): Decision<HandResult> {
  if (record === null || isForgotten(record) || isErased(record)) return refused(record);
  const claimId = reopenedClaimId(request.claimId);
  const isHis = sameFence(record, request) || sameFence(record, { ...request, claimId });
  if (isHis && record.state === 'retryable' && record.proof === 'settled')
    return { write: undefined, result: { kind: 'already' } };
  if (!sameFence(record, request) || record.state !== 'failed') return refused(record);
  if (record.reason === NEVER_KNOWN && request.effect !== 'none') return refused(record);
  return {
    write: {
      ...record,
      ...heldBack(isReplayable(record, view.now) ? REOPEN_DELAY_MS : 0, view),
      state: 'retryable',
      claimId,
      proof: 'settled',
      reason: request.reason,
      response: null,
      finishedAt: null,
      expiresAt: lifeAfter(record, view),
    },
    result: { kind: 'applied' },
  };
}

/**
 * An operator drops a record that nobody works on, as it was seen; refused for `pending`, `in_progress` and `unknown`,
 * and where a late finish has given it another state under the same fence. What may have
 * happened runs again only on the word that nothing did: with the record goes what would have kept it from happening
 * twice (F155). While other processes may still replay its answer, its key stays behind, without request and answer.
 */
export function decideForget(
  record: SamekeyRecord | null,
  request: FencedId & Pick<ForgetRequest, 'effect' | 'state'>,
  view: View,
): Decision<HandResult> {
  const already: Decision<HandResult> = { write: undefined, result: { kind: 'already' } };
  if (record === null) return already;
  if (isForgotten(record)) {
    const { claimId } = record;
    const same = claimId === request.claimId || claimId === forgottenClaimId(request.claimId);
    return same && record.attempt === request.attempt ? already : refused(record);
  }
  if (!sameFence(record, request) || isErased(record)) return refused(record);
  if (record.state !== request.state) return refused(record);
  if (!isFinal(record) && record.state !== 'retryable') return refused(record);
  if (mayHaveHappened(record) && request.effect !== 'none') return refused(record);
  const opened = record.state === 'retryable' && view.claimLeftMs > 0;
  if (!opened && !isReplayable(record, view.now)) return { write: null, result: { kind: 'applied' } };
  const write: SamekeyRecord = {
    ...record,
    state: 'retryable',
    ...heldBack(REOPEN_DELAY_MS, view),
    claimId: forgottenClaimId(record.claimId),
    proof: 'settled',
    reason: FORGOTTEN,
    response: null,
    fingerprint: null,
    finishedAt: null,
    expiresAt: view.laterNow + REOPEN_DELAY_MS,
    replayMinMs: 0,
    tombstoneMs: 0,
    recoveryPoint: null,
    steps: null,
    intentAt: null,
    input: null,
  };
  return { write, result: { kind: 'applied' } };
}

/**
 * Whether a record that may run again by an act of hand may have taken effect, and nobody has said: given up as never
 * known, or with an effect that was begun and never ended.
 */
export function mayHaveHappened({ reason, intentAt, proof }: SamekeyRecord): boolean {
  return reason === NEVER_KNOWN || (intentAt !== null && proof !== 'settled');
}

/**
 * What a caller's record becomes whose content is to go: a tombstone that never expires. Left as they are: what
 * somebody works on, an outcome nobody knows, and an effect that may have happened; whoever ends them may need what
 * they hold.
 */
export function decideErase(
  record: SamekeyRecord,
  _request: unknown,
  view: Pick<View, 'now'>,
): Decision<'erased' | 'left' | 'already'> {
  if (isErased(record)) return { write: undefined, result: 'already' };
  const isIdle =
    isFinal(record) ||
    (record.state === 'retryable' && record.intentAt === null) ||
    (record.state === 'pending' && !isHandedOver(record));
  if (!isIdle) return { write: undefined, result: 'left' };
  return {
    write: {
      ...record,
      state: record.state === 'completed' ? 'completed' : 'failed',
      claimId: erasedClaimId(record.claimId),
      proof: null,
      reason: ERASED,
      response: null,
      // The digest of a short body tells the body.
      fingerprint: null,
      sealKeyId: null,
      finishedAt: record.finishedAt ?? view.now,
      expiresAt: NEVER,
      tombstoneMs: 0,
      recoveryPoint: null,
      steps: null,
      intentAt: null,
      input: null,
    },
    result: 'erased',
  };
}

/**
 * When it may run again. `claimTtlMs` says for how long it is held back: where the database has no clock, each process
 * counts that itself from when it first sees the record (`claim-watch.ts`).
 */
function heldBack(delayMs: number, view: View): Pick<SamekeyRecord, 'lockedUntil' | 'claimTtlMs'> {
  return { lockedUntil: view.now + delayMs, claimTtlMs: delayMs };
}
