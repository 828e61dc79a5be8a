/**
 * The state table (semantics §3–4), pure: (record | none, command, view) → what to write and what to answer. No clock, no
 * store, no engine. A store applies a decision atomically, under a condition that repeats the fence the decision was
 * made on; stores that speak SQL encode the same table in their statements and are held to it by the contract suite.
 *
 * Invariants: a final record changes by expiry or an operator's hand only · what an operator opens or forgets runs again only
 * when no process may still replay its answer (F62) · attempts only grow within a record's life ·
 * a claimId is good for one attempt once · what does not match is reported and changes nothing.
 */

import type { ByHand } from './audit.ts';
import {
  type Fence,
  erasedClaimId,
  forgottenClaimId,
  isErased,
  isExpired,
  isFinal,
  isForgotten,
  isHandedOver,
  isPurgeable,
  isReplayable,
  REOPEN_DELAY_MS,
  type RecordId,
  type SamekeyRecord,
  type State,
} from './record.ts';
import { problemResponse } from './response.ts';
import type {
  CheckpointRequest,
  CheckpointResult,
  ClaimRequest,
  ClaimResult,
  FencedId,
  FinishRequest,
  FinishResult,
  FoundReason,
  HandResult,
  PostponeRequest,
  RenewRequest,
  RenewResult,
  Resumed,
  SettleRequest,
  SweepOptions,
  Swept,
  TakeUnknownRequest,
} from './store.ts';

/** What the store knows at the moment of the decision. */
export interface View {
  /** The store's clock, in milliseconds since 1970. */
  readonly now: number;
  /** Whether the record's claim is over by the store's own rule; only looked at while `in_progress`. */
  readonly claimOver: boolean;
  /**
   * What the living claim has left by the store's own rule, in milliseconds; for a `retryable` record the time until a claim may
   * be granted.
   */
  readonly claimLeftMs: number;
}

/** What to write (`undefined`: nothing, `null`: delete), and what to answer. */
export interface Decision<Result> {
  readonly write: SamekeyRecord | null | undefined;
  readonly result: Result;
}

/** States in which `lockedUntil` means something. */
const LOCKED: ReadonlySet<State> = new Set(['in_progress', 'retryable', 'pending']);

/** The view of a store whose clock is the server's: a claim is over when its time has passed. */
export function serverView(record: SamekeyRecord | null, now: number): View {
  const locked = record !== null && LOCKED.has(record.state);
  const claimLeftMs = locked ? Math.max(0, record.lockedUntil - now) : 0;
  return { now, claimOver: claimLeftMs === 0, claimLeftMs };
}

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
      lifeLeftMs: because === 'final' ? record.expiresAt - view.now : 0,
    },
  });

  if (record.formatVersion > request.formatVersion) return found('newer-format');
  // A claimId is good once: found anywhere but in its living claim it takes nothing, however late its request arrives.
  if (record.claimId === request.claimId) {
    if (record.state === 'in_progress') return repeat(record, view);
    return record.state === 'pending' && request.entry === 'accept' ? accepted(record) : found('spent');
  }
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

/**
 * The owner goes on: more time, also when it was given up for `unknown` too early. What it called unknown itself stays so: a
 * renewal that was under way then must not hand the record to the end of its claim.
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

/** The owner notes what it has done so far, under the conditions of a renewal. */
export function decideCheckpoint(
  record: SamekeyRecord | null,
  request: CheckpointRequest,
  view: View,
): Decision<CheckpointResult> {
  const { write } = decideRenew(record, request, view);
  if (!write) return { write: undefined, result: { kind: 'refused', record } };
  return {
    write: {
      ...write,
      recoveryPoint: request.recoveryPoint,
      steps: request.steps,
      intentAt: request.intentOpen ? view.now : null,
    },
    result: { kind: 'applied' },
  };
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

/** The end of the year 9999: a message has its own deadline. */
export const NEVER = 253_402_300_799_000;

/** The owner says how its attempt ended. */
export function decideFinish(
  record: SamekeyRecord | null,
  request: FinishRequest,
  view: View,
): Decision<FinishResult> {
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
    expiresAt: lifeAfter(record, view.now) + request.extendMs,
    intentAt: final ? null : record.intentAt,
  };
  return { write: written, result: { kind: 'applied', expiresAt: written.expiresAt } };
}

/** A reconciler or an operator says how an unknown outcome ended. */
export function decideSettle(
  record: SamekeyRecord | null,
  request: SettleRequest,
  view: View,
): Decision<HandResult> {
  if (!sameFence(record, request) || isForgotten(record)) return refused(record);
  if (record.state === request.to && record.proof === 'settled')
    return { write: undefined, result: { kind: 'already' } };
  if (record.state !== 'unknown') return refused(record);
  // Of an unknown outcome `lockedUntil` is when its claim ended.
  if (view.now - record.lockedUntil < (request.claimEndedForMs ?? 0)) return refused(record);
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
      expiresAt: lifeAfter(record, view.now),
      intentAt: request.to === 'retryable' && request.newSteps === undefined ? record.intentAt : null,
    },
    result: { kind: 'applied' },
  };
}

/** A reconciler takes an unknown outcome that is due, to ask about it; undefined when it is not due. */
export function decideTakeUnknown(
  record: SamekeyRecord,
  request: Pick<TakeUnknownRequest, 'leaseMs'>,
  view: View,
): SamekeyRecord | undefined {
  const { state, reconcileAfter, inquiries } = record;
  if (state !== 'unknown' || reconcileAfter === null || reconcileAfter > view.now) return undefined;
  return { ...record, reconcileAfter: view.now + request.leaseMs, inquiries: inquiries + 1 };
}

/**
 * A reconciler learned nothing: the record is looked at later, or by an operator. The count of inquiries is part of its fence:
 * whoever took it since is not disturbed. What the record says of its end stays, because it decides whether its living owner
 * may take it back.
 */
export function decidePostpone(
  record: SamekeyRecord | null,
  request: PostponeRequest,
  view: View,
): Decision<HandResult> {
  if (!sameFence(record, request) || record.state !== 'unknown') return refused(record);
  if (record.inquiries !== request.inquiries) return refused(record);
  const reconcileAfter = request.afterMs === null ? NEVER : view.now + request.afterMs;
  if (record.reconcileAfter === reconcileAfter) return { write: undefined, result: { kind: 'already' } };
  return { write: { ...record, reconcileAfter }, result: { kind: 'applied' } };
}

/** An operator lets a failed key run again: at least once, however many attempts it had. */
export function decideReopen(
  record: SamekeyRecord | null,
  request: FencedId & Pick<ByHand, 'reason'>,
  view: View,
): Decision<HandResult> {
  if (!sameFence(record, request) || isForgotten(record) || isErased(record)) return refused(record);
  if (record.state === 'retryable' && record.proof === 'settled')
    return { write: undefined, result: { kind: 'already' } };
  if (record.state !== 'failed') return refused(record);
  return {
    write: {
      ...record,
      ...held(record, view),
      state: 'retryable',
      proof: 'settled',
      reason: request.reason,
      response: null,
      finishedAt: null,
      expiresAt: lifeAfter(record, view.now),
    },
    result: { kind: 'applied' },
  };
}

/**
 * An operator drops a record that nobody works on; refused for `pending`, `in_progress` and `unknown`. While other processes may
 * still replay its answer, its key stays behind, without request and answer.
 */
export function decideForget(
  record: SamekeyRecord | null,
  request: FencedId,
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
  if (!isFinal(record) && record.state !== 'retryable') return refused(record);
  const opened = record.state === 'retryable' && view.claimLeftMs > 0;
  if (!opened && !isReplayable(record, view.now)) return { write: null, result: { kind: 'applied' } };
  const lockedUntil = view.now + REOPEN_DELAY_MS;
  const write: SamekeyRecord = {
    ...record,
    state: 'retryable',
    claimId: forgottenClaimId(record.claimId),
    lockedUntil,
    renewals: record.renewals + 1,
    proof: 'settled',
    reason: FORGOTTEN,
    response: null,
    fingerprint: null,
    finishedAt: null,
    expiresAt: lockedUntil,
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
 * What a caller's record becomes whose content is to go: a tombstone that never expires. Left as they are: what somebody works on,
 * an outcome nobody knows, and an effect that may have happened; whoever ends them may need what they hold.
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

/** How long an outcome stays unknown at most, in milliseconds: 30 days (semantics §3). */
export const UNKNOWN_MAX_MS: number = 30 * 24 * 60 * 60 * 1_000;

/** The sweeper ends what is over: a claim, a deadline, the time to find an outcome out; undefined when there is nothing to end. */
export function decideSweep(
  record: SamekeyRecord,
  view: View,
  { unknownMaxMs = UNKNOWN_MAX_MS }: SweepOptions = {},
): Decision<Swept> | undefined {
  const { scope, key, claimId, attempt, operation, state: from } = record;
  const ageMs = Math.max(0, view.now - record.lockedUntil);
  if (from !== 'in_progress' && from !== 'pending' && from !== 'unknown') return undefined;
  if (from === 'unknown' ? ageMs < unknownMaxMs : !view.claimOver) return undefined;
  const ended = endOf(record, from, view);
  const to = ended.state as Swept['to'];
  const result: Swept = { scope, key, claimId, attempt, operation, from, to, reason: ended.reason, ageMs };
  return { write: ended, result };
}

function endOf(record: SamekeyRecord, from: Swept['from'], view: View): SamekeyRecord {
  if (from === 'in_progress') return endClaim(record, view);
  return from === 'pending' ? neverStarted(record, view) : neverKnown(record, view);
}

/** The reason of a record that was forgotten and whose key may not run yet. */
export const FORGOTTEN = 'forgotten';
/** The reason of a record whose content was erased. */
export const ERASED = 'erased';
/** The reason of a record whose claim ended without a word from its owner. */
export const CLAIM_ENDED = 'claim-ended';
/** The reason of a record that was accepted and not begun by its deadline. */
export const NEVER_STARTED = 'never-started';
/** The reason of a record whose outcome nobody came to know in time. */
export const NEVER_KNOWN = 'outcome-never-known';
/** The reason of a record that used up its attempts. */
export const EXHAUSTED = 'attempts-exhausted';

/** Reasons that only somebody else than the owner writes. */
const BY_OTHERS: ReadonlySet<string> = new Set([EXHAUSTED, CLAIM_ENDED, NEVER_KNOWN]);

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
    formatVersion: request.formatVersion,
    sealKeyId: previous?.sealKeyId ?? null,
    reconcileAfter: null,
    inquiries: 0,
    createdAt: previous?.createdAt ?? view.now,
    finishedAt: null,
    // Frozen at first use: a later attempt neither shortens nor lengthens it.
    expiresAt: previous?.expiresAt ?? view.now + request.retentionMs,
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
    expiresAt: lifeAfter(record, view.now),
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

/** 408: the request came, and nobody took it up (semantics §3). */
function neverStarted(record: SamekeyRecord, { now }: View): SamekeyRecord {
  return {
    ...record,
    state: 'failed',
    lockedUntil: now,
    reason: NEVER_STARTED,
    response: problemResponse(
      408,
      NEVER_STARTED,
      'The request was accepted, but its work was not begun in time.',
    ),
    finishedAt: now,
    expiresAt: lifeAfter(record, now),
  };
}

/** 409, for good: it may have taken effect, so it never runs again by itself (semantics §3). */
function neverKnown(record: SamekeyRecord, { now }: View): SamekeyRecord {
  return {
    ...record,
    state: 'failed',
    reason: NEVER_KNOWN,
    response: problemResponse(
      409,
      NEVER_KNOWN,
      'The request may have taken effect, and nobody could find out in time. Look before you send it again under another key.',
    ),
    reconcileAfter: null,
    finishedAt: now,
    expiresAt: lifeAfter(record, now),
  };
}

function endClaim(open: SamekeyRecord, view: View): SamekeyRecord {
  // It is over: where time is watched and not compared, the next claim must not be told otherwise.
  const record = { ...open, lockedUntil: Math.min(open.lockedUntil, view.now) };
  return record.whenClaimEnds === 'resume'
    ? {
        ...record,
        state: 'retryable',
        proof: 'policy',
        reason: CLAIM_ENDED,
        expiresAt: lifeAfter(record, view.now),
      }
    : { ...record, state: 'unknown', reason: CLAIM_ENDED, reconcileAfter: view.now, inquiries: 0 };
}

/** Never shorter than before, and long enough that whoever waited for the end can still read it (F58). */
function lifeAfter(record: SamekeyRecord, now: number): number {
  return Math.max(record.expiresAt, now + record.replayMinMs);
}

/** When it may run again. The count of renewals moves on, so that stores that watch it begin anew. */
function held(record: SamekeyRecord, view: View): Pick<SamekeyRecord, 'lockedUntil' | 'renewals'> {
  const delayMs = isReplayable(record, view.now) ? REOPEN_DELAY_MS : 0;
  return { lockedUntil: view.now + delayMs, renewals: record.renewals + 1 };
}

function sameFence(record: SamekeyRecord | null, fence: Fence): record is SamekeyRecord {
  return record !== null && record.claimId === fence.claimId && record.attempt === fence.attempt;
}

function refused(record: SamekeyRecord | null): Decision<HandResult> {
  return { write: undefined, result: { kind: 'refused', record } };
}

function unreachable(state: never): never {
  throw new Error(`unreachable state ${String(state)}`);
}
