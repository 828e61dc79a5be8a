/**
 * May this claimId run an attempt now? The rows of the state table for claims, in the order of precedence of
 * contract §4.3.
 */

import {
  attemptAgeMs,
  isExpired,
  isForgotten,
  isHandedOver,
  isLeftToCode,
  isPurgeable,
  isVacant,
  POINTER_CLAIM,
  reopenedClaimId,
  type SamekeyRecord,
} from '../../core/record.ts';
import type { ClaimRequest, ClaimResult, FoundReason, Resumed } from '../store.ts';
import { type Decision, EXHAUSTED, leftToCode, lifeAfter, type View } from './decision.ts';
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
      // By the later of two clocks: nobody answers from memory for whom the key may be another's already.
      lifeLeftMs: because === 'final' ? Math.max(0, record.expiresAt - view.laterNow) : 0,
    },
  });

  const isOwn = record.claimId === request.claimId;
  const isLiving =
    isOwn && (record.state === 'in_progress' || (record.state === 'pending' && request.entry === 'accept'));
  // But for what it has just written itself, in the format it writes.
  if (record.formatVersion > request.readVersion && !isLiving) return found('newer-format');
  // A claimId is good once: found anywhere but in its living claim it takes nothing, however late its request arrives.
  if (isLiving) return record.state === 'pending' ? accepted(record) : repeat(record, view);
  if (isOwn) return found('spent');
  if (record.claimId === reopenedClaimId(request.claimId)) return found('spent');
  if (isForgotten(record)) {
    return view.claimLeftMs > 0 ? found('in-progress') : grant(null, request, view);
  }
  if (isExpired(record, view.now)) {
    return isPurgeable(record, view.now) ? grant(null, request, view) : found('expired');
  }
  // Where nothing ever ran a new life begins: whoever left it so binds no later request, and bounds neither its life
  // nor its attempts.
  if (isVacant(record) && request.entry !== 'take')
    return view.claimLeftMs > 0 ? found('in-progress') : grant(null, request, view);
  // What somebody's request has left is no place for a pointer, whatever state it is in: nothing of it is touched.
  const isPointing = request.claimId.startsWith(POINTER_CLAIM);
  if (record.fingerprint !== null) {
    if (record.fingerprint.label !== request.fingerprint.label) return found('other-label');
    if (record.fingerprint.digest !== request.fingerprint.digest) return found('mismatch');
  }
  switch (record.state) {
    case 'completed':
    case 'failed':
      return record.reason === EXHAUSTED ? found('exhausted') : found('final');
    case 'unknown':
      return isLeftToCode(record) && request.takesSteps === true && request.entry !== 'accept'
        ? grant(record, request, view)
        : found('unknown');
    case 'pending':
      if (request.entry === 'accept' || isPointing) return found('pending');
      if (isHandedOver(record) || view.claimOver) return found('pending');
      return isForeign(record, request) ? leave(record, request, view, found) : grant(record, request, view);
    case 'in_progress': {
      if (!view.claimOver || isPointing) return found('in-progress');
      const ended = endClaim(record, view);
      return ended.state === 'retryable' ? resume(ended, request, view, found) : found('unknown', ended);
    }
    case 'retryable':
      if (view.claimLeftMs > 0 || isPointing) return found('in-progress');
      // Its client was told to correct it, and nothing of it has happened: what comes now is noted as new.
      if (request.entry === 'accept' && record.fingerprint === null) return grant(null, request, view);
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
    attemptMax: attemptMaxOf(previous, request),
    tombstoneMs: previous?.tombstoneMs ?? request.tombstoneMs,
    recoveryPoint: previous?.recoveryPoint ?? null,
    steps: previous?.steps ?? null,
    intentAt: previous?.intentAt ?? null,
    input: inputOf(previous, request),
  };
  if (accept) return { ...accepted(write), write };
  const { createdAt, expiresAt } = write;
  const resumed = previous === null || previous.attempt === 0 ? null : leftBy(previous, view);
  return { write, result: { kind: 'claimed', attempt, createdAt, expiresAt, resumed } };
}

/** Of a record that is not bound to a request any more, or whose code kept none: what this one brings. */
function inputOf(previous: SamekeyRecord | null, { input }: ClaimRequest): Uint8Array | null {
  return previous === null || previous.fingerprint === null ? input : (previous.input ?? input);
}

type Find = (because: FoundReason, write?: SamekeyRecord) => Decision<ClaimResult>;

/** Whether it holds steps and the code that asks does not go on from any (F109). */
function isForeign({ steps }: SamekeyRecord, { takesSteps }: ClaimRequest): boolean {
  return steps !== null && takesSteps !== true;
}

/** A request is told that nobody knows, and so is the record; a worker leaves it for those who know. */
function leave(record: SamekeyRecord, request: ClaimRequest, view: View, found: Find): Decision<ClaimResult> {
  return request.entry === 'take' ? found('unknown') : found('unknown', leftToCode(record, view));
}

function resume(
  record: SamekeyRecord,
  request: ClaimRequest,
  view: View,
  found: Find,
): Decision<ClaimResult> {
  if (isForeign(record, request)) return leave(record, request, view, found);
  if (request.entry === 'accept') {
    // Begun by code that kept no input: with it a worker may go on, who is told of nothing else (F114).
    if (record.input === null)
      return found('in-progress', { ...record, operation: request.operation, input: request.input });
    return found('in-progress');
  }
  // Who let it run again by hand meant that it runs: at least once more.
  const byHand = record.proof === 'settled';
  if (byHand || record.attempt < attemptMaxOf(record, request)) return grant(record, request, view);
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

/** The looser of two bounds, the record's and the code's. */
function attemptMaxOf(record: SamekeyRecord | null, { attemptMax }: ClaimRequest): number {
  return Math.max(record?.attemptMax ?? 0, attemptMax);
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

function leftBy({ proof, reason, steps, intentAt }: SamekeyRecord, { now, laterNow }: View): Resumed {
  const since = (time: number): number | null => (intentAt === null ? null : Math.max(0, time - intentAt));
  return { proof, reason, steps, intentAgeMs: since(now), intentAgeMaxMs: since(laterNow) };
}

function unreachable(state: never): never {
  throw new Error(`unreachable state ${String(state)}`);
}
