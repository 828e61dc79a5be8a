/** May this claimId run an attempt now? The rows of the state table for claims, in the order of precedence of semantics §4. */

import {
  attemptAgeMs,
  isExpired,
  isForgotten,
  isHandedOver,
  isPurgeable,
  reopenedClaimId,
  type SamekeyRecord,
} from '../record.ts';
import type { ClaimRequest, ClaimResult, FoundReason, Resumed } from '../store.ts';
import { type Decision, EXHAUSTED, lifeAfter, type View } from './decision.ts';
import { endClaim } from './upkeep.ts';

/** May this claimId run an attempt now? */
export function decideClaim(
  record: SamekeyRecord | null,
  request: ClaimRequest,
  view: View,
): Decision<ClaimResult> {
  if (record === null) return grant(null, request, view);
  const found = (because: FoundReason, write?: SamekeyRecord): Decision<ClaimResult> => ({
    write,
    result: {
      kind: 'found',
      because,
      record: write ?? record,
      claimLeftMs: because === 'in-progress' ? view.claimLeftMs : 0,
      ageMs: because === 'in-progress' || because === 'pending' ? attemptAgeMs(record, view.now) : 0,
      lifeLeftMs: because === 'final' ? record.expiresAt - view.now : 0,
    },
  });

  if (record.formatVersion > request.readVersion) return found('newer-format');
  // A claimId is good once: found anywhere but in its living claim it takes nothing, however late its request arrives.
  if (record.claimId === request.claimId) {
    if (record.state === 'in_progress') return repeat(record, view);
    return record.state === 'pending' && request.entry === 'accept' ? accepted(record) : found('spent');
  }
  if (record.claimId === reopenedClaimId(request.claimId)) return found('spent');
  if (isForgotten(record)) {
    return view.claimLeftMs > 0 ? found('in-progress') : grant(null, request, view);
  }
  if (isExpired(record, view.now)) {
    return isPurgeable(record, view.now) ? grant(null, request, view) : found('expired');
  }
  if (record.fingerprint !== null) {
    if (record.fingerprint.label !== request.fingerprint.label) return found('other-label');
    if (record.fingerprint.digest !== request.fingerprint.digest) return found('mismatch');
  }
  switch (record.state) {
    case 'completed':
    case 'failed':
      return record.reason === EXHAUSTED ? found('exhausted') : found('final');
    case 'unknown':
      return found('unknown');
    case 'pending':
      if (request.entry !== 'take' || isHandedOver(record) || view.claimOver) return found('pending');
      return grant(record, request, view);
    case 'in_progress': {
      if (!view.claimOver || request.entry === 'accept') return found('in-progress');
      const ended = endClaim(record, view);
      return ended.state === 'retryable' ? resume(ended, request, view, found) : found('unknown', ended);
    }
    case 'retryable':
      if (view.claimLeftMs > 0) return found('in-progress');
      // Its client was told to correct it, and nothing of it has happened: what comes now is noted as new.
      if (request.entry === 'accept' && record.fingerprint === null) return grant(null, request, view);
      if (request.entry === 'accept') return found('in-progress');
      return resume(record, request, view, found);
    default:
      return unreachable(record.state);
  }
}

function grant(previous: SamekeyRecord | null, request: ClaimRequest, view: View): Decision<ClaimResult> {
  const accept = request.entry === 'accept';
  const attempt = accept ? 0 : previous === null ? 1 : previous.attempt + 1;
  const write: SamekeyRecord = {
    scope: request.scope,
    key: request.key,
    operation: request.operation,
    state: accept ? 'pending' : 'in_progress',
    attempt,
    claimId: request.claimId,
    lockedUntil: view.now + (accept ? request.pendingTimeMaxMs : request.claimTtlMs),
    claimTtlMs: request.claimTtlMs,
    renewals: 0,
    whenClaimEnds: request.whenClaimEnds,
    fingerprint: previous?.fingerprint ?? request.fingerprint,
    proof: null,
    reason: null,
    response: null,
    // What earlier attempts have left in a newer format is read as that (F112).
    formatVersion: Math.max(previous?.formatVersion ?? 0, request.formatVersion),
    sealKeyId: previous?.sealKeyId ?? null,
    reconcileAfter: null,
    inquiries: 0,
    createdAt: previous?.createdAt ?? view.now,
    finishedAt: null,
    // Frozen at first use: a later attempt neither shortens nor lengthens it.
    expiresAt: previous?.expiresAt ?? view.laterNow + request.retentionMs,
    replayMinMs: previous?.replayMinMs ?? request.replayMinMs,
    tombstoneMs: previous?.tombstoneMs ?? request.tombstoneMs,
    recoveryPoint: previous?.recoveryPoint ?? null,
    steps: previous?.steps ?? null,
    intentAt: previous?.intentAt ?? null,
    // Not bound to a request any more, it is bound to this one.
    input: previous === null || previous.fingerprint === null ? request.input : previous.input,
  };
  if (accept) return { ...accepted(write), write };
  const { createdAt, expiresAt } = write;
  const resumed = previous === null || previous.attempt === 0 ? null : leftBy(previous, view);
  return { write, result: { kind: 'claimed', attempt, createdAt, expiresAt, resumed } };
}

function resume(
  record: SamekeyRecord,
  request: ClaimRequest,
  view: View,
  found: (because: FoundReason, write?: SamekeyRecord) => Decision<ClaimResult>,
): Decision<ClaimResult> {
  // Who let it run again by hand meant that it runs: at least once more.
  const byHand = record.proof === 'settled';
  if (byHand || record.attempt < request.attemptMax) return grant(record, request, view);
  // Phases or effects that are done, or an effect that may be, are nobody's failure: somebody must look.
  if (record.steps !== null) {
    const ended = { ...record, state: 'unknown', reason: EXHAUSTED, reconcileAfter: view.now } as const;
    return found('unknown', { ...ended, inquiries: 0 });
  }
  return found('exhausted', {
    ...record,
    state: 'failed',
    reason: EXHAUSTED,
    response: null,
    finishedAt: view.now,
    expiresAt: lifeAfter(record, view),
  });
}

/** The reply to the claim was lost and it is asked again: the same attempt owns it (F15). */
function repeat(record: SamekeyRecord, view: View): Decision<ClaimResult> {
  const { attempt, createdAt, expiresAt } = record;
  const resumed = attempt === 1 ? null : leftBy(record, view);
  return { write: undefined, result: { kind: 'claimed', attempt, createdAt, expiresAt, resumed } };
}

function accepted({ createdAt, expiresAt }: SamekeyRecord): Decision<ClaimResult> {
  return { write: undefined, result: { kind: 'accepted', createdAt, expiresAt } };
}

function leftBy({ proof, reason, steps, intentAt }: SamekeyRecord, { now }: View): Resumed {
  return { proof, reason, steps, intentAgeMs: intentAt === null ? null : Math.max(0, now - intentAt) };
}

function unreachable(state: never): never {
  throw new Error(`unreachable state ${String(state)}`);
}
