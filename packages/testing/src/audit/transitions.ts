/**
 * Which changes of a record are legal: the state table of contract §3.2 written a second time, from the text and not from
 * `store/machine/index.ts`, so that a mistake there does not excuse itself. Pure.
 */

import type { SamekeyRecord } from 'samekey/internals/core/record';
import type {
  ClaimRequest,
  FinishRequest,
  PostponeRequest,
  SettleRequest,
} from 'samekey/internals/store/store';

/** The verbs that change records. */
export type WritingVerb =
  | 'claim'
  | 'renew'
  | 'checkpoint'
  | 'finish'
  | 'settle'
  | 'reopen'
  | 'forget'
  | 'erase'
  | 'sweep'
  | 'takeUnknown'
  | 'postpone'
  | 'reap';

/** One change, as it was seen at the store. */
export interface Transition {
  readonly verb: WritingVerb;
  /** The row of the call; null for sweeping, taking and reaping. */
  readonly request: object | null;
  readonly before: SamekeyRecord | null;
  readonly after: SamekeyRecord | null;
  /** The store's clock. */
  readonly now: number;
  /** Whether what the store takes for the time may be behind that clock: then a record may live longer, and never shorter. */
  readonly timeLags?: boolean;
}

/** Whether the change begins a new life of the key: nothing stood there, or what stood there was past its time. */
export function beginsLife({ verb, before, after, now }: Transition): boolean {
  if (verb !== 'claim' || after === null) return false;
  if (before === null) return true;
  // The clock may stand still between two that come to an empty place.
  if (isVacant(before)) return after.attempt === 1 && after.claimId !== before.claimId;
  return purgeable(before, now) && after.createdAt !== before.createdAt;
}

/** What is wrong with a change; null when it is legal. `before` and `after` differ. */
export function faultOf(t: Transition): string | null {
  const { before, after, verb } = t;
  if (before === null) return after === null || verb === 'claim' ? faultOfFirst(t) : `${verb} made a record`;
  if (after === null) return faultOfDeletion(t, before);
  if (after.scope !== before.scope || after.key !== before.key) return 'a record changed its key';
  if (beginsLife(t)) return faultOfFirst(t);
  if (verb === 'forget') return faultOfForgetting(t, before, after);
  if (verb === 'erase') return faultOfErasing(before, after);
  if (isErased(before)) return `${verb} changed an erased record`;
  if (after.createdAt !== before.createdAt) return 'a living record was replaced';
  if (after.expiresAt < before.expiresAt) return 'the retention became shorter';
  if (after.attempt < before.attempt) return 'the attempt number went back';
  if (verb !== 'reopen' && after.attempt === before.attempt && after.claimId !== before.claimId)
    return 'the claim changed hands within one attempt';
  if (verb !== 'checkpoint' && verb !== 'settle' && after.steps !== before.steps)
    return `${verb} changed steps`;
  if (after.attempt > before.attempt) return faultOfNextAttempt(t, before, after);
  const isFinal = after.state === 'completed' || after.state === 'failed';
  if (isFinal && after.expiresAt < t.now + after.replayMinMs) return 'a final answer lives too short (F58)';
  return faultOfSameAttempt(t, before, after);
}

function faultOfFirst({ after }: Transition): string | null {
  if (after === null || (after.state === 'in_progress' && after.attempt === 1)) return null;
  return `a new record began as ${after.state}, attempt ${after.attempt}`;
}

function faultOfDeletion({ verb, now }: Transition, before: SamekeyRecord): string | null {
  if (verb === 'reap')
    return purgeable(before, now) ? null : `the reaper took a ${before.state} record in its time`;
  if (verb !== 'forget') return `${verb} deleted a record`;
  if (!mayExpire(before)) return `a ${before.state} record was forgotten`;
  return trusted(before, now) ? 'a key was forgotten whose answer may be replayed elsewhere (F62)' : null;
}

/** Whether its key is held back until nobody may answer from what was read earlier. */
function isHeldBack({ now, timeLags }: Transition, { lockedUntil, claimTtlMs }: SamekeyRecord): boolean {
  return claimTtlMs >= TRUST_MS && (timeLags === true || lockedUntil >= now + TRUST_MS);
}

/** What is left of a forgotten record holds its key back and nothing else. */
function faultOfForgetting(t: Transition, before: SamekeyRecord, after: SamekeyRecord): string | null {
  if (!mayExpire(before)) return `a ${before.state} record was forgotten`;
  if (after.state !== 'retryable' || after.response !== null || after.fingerprint !== null)
    return 'something of a forgotten record was kept';
  if (after.claimId === before.claimId) return 'a forgotten record kept its fence';
  return isHeldBack(t, after) ? null : 'a forgotten key may run too early (F62)';
}

/** Nothing is left but the key, for ever. */
function faultOfErasing(before: SamekeyRecord, after: SamekeyRecord): string | null {
  const idle = mayExpire(before) || (before.state === 'pending' && before.attempt === 0);
  if (!idle) return `a ${before.state} record was erased`;
  if (after.state !== (before.state === 'completed' ? 'completed' : 'failed'))
    return `erasing made a ${before.state} record ${after.state}`;
  const { response, fingerprint, input, steps, expiresAt, claimId } = after;
  if (response !== null || fingerprint !== null || input !== null || steps !== null)
    return 'something of an erased record was kept';
  if (claimId === before.claimId) return 'an erased record kept its fence';
  return expiresAt > Date.UTC(9000, 0) ? null : 'an erased key may run again';
}

function isErased({ claimId }: SamekeyRecord): boolean {
  return claimId.startsWith('erased:');
}

/** How long a process may answer from what it read (contract §8.6). */
const TRUST_MS = 5_000;

/** Whether some process may still replay the record's answer. */
function trusted(record: SamekeyRecord, now: number): boolean {
  if (record.state === 'retryable') return record.lockedUntil > now;
  return record.response !== null && record.response.body !== null && record.expiresAt > now;
}

function faultOfNextAttempt(
  { verb, request, now, timeLags }: Transition,
  before: SamekeyRecord,
  after: SamekeyRecord,
): string | null {
  if (verb !== 'claim') return `${verb} started an attempt`;
  if (after.state !== 'in_progress') return `an attempt began as ${after.state}`;
  if (after.attempt !== before.attempt + 1) return 'an attempt number was left out';
  if (after.claimId === before.claimId) return 'one claimId was good for two attempts';
  const { attemptMax, takesSteps } = request as ClaimRequest;
  if (before.steps !== null && takesSteps !== true) return 'code that knows no steps ran over some (F109)';
  const leftToCode =
    before.state === 'unknown' && /^(?:phases|effect-rule)-changed$/.test(before.reason ?? '');
  const byHand = before.proof === 'settled';
  if (!byHand && !leftToCode && after.attempt > Math.max(before.attemptMax, attemptMax))
    return 'more attempts than allowed';
  if (before.state === 'retryable' && before.lockedUntil > now)
    return 'a key ran while its old answer may be replayed elsewhere (F62)';
  if (before.expiresAt <= now && expires(before) && timeLags !== true)
    return 'an expired record ran again within its life';
  if (isOtherRequest(before, request)) return 'another request ran under the key';
  const over = before.state === 'in_progress' && before.lockedUntil <= now;
  if (over && before.whenClaimEnds === 'unknown')
    return 'an attempt that may have had its effect was resumed';
  if (!over && !leftToCode && before.state !== 'retryable') return `a record in ${before.state} ran again`;
  return null;
}

function faultOfSameAttempt(t: Transition, before: SamekeyRecord, after: SamekeyRecord): string | null {
  const { verb, request, now } = t;
  const change = `${before.state} → ${after.state}`;
  if (verb === 'claim' || verb === 'sweep') {
    if (verb === 'claim' && isOtherRequest(before, request)) return 'another request changed the record';
    // For want of attempts: failed, or unknown with steps behind it.
    const out = before.steps === null ? 'failed' : 'unknown';
    if (verb === 'claim' && before.state === 'retryable' && after.state === out) return null;
    if (verb === 'sweep' && before.state === 'unknown') return faultOfNeverKnown(t, before, after);
    if (before.state !== 'in_progress') return `${verb}: ${change}`;
    if (before.lockedUntil > now) return `${verb} ended a living claim`;
    const end = before.whenClaimEnds === 'resume' ? 'retryable' : 'unknown';
    const exhausted = verb === 'claim' && end === 'retryable' && after.state === out;
    return after.state === end || exhausted ? null : `${verb}: ${change}`;
  }
  if (verb === 'reap') return 'the reaper changed a record';
  if (verb === 'forget') return 'forget changed a record';
  if (verb === 'erase') return 'erase changed a record';
  if (verb === 'takeUnknown') return faultOfTake(t, before, after);
  const fence = request as { readonly claimId: string; readonly attempt: number };
  if (fence.claimId !== before.claimId || fence.attempt !== before.attempt)
    return `${verb} passed with another attempt's fence`;
  switch (verb) {
    case 'renew':
      if (before.state === 'unknown' && before.reason !== 'claim-ended')
        return `renew took back what its owner had given up (${before.reason})`;
      return change === 'in_progress → in_progress' || change === 'unknown → in_progress'
        ? null
        : `renew: ${change}`;
    case 'checkpoint':
      if (before.state === 'unknown' && before.reason !== 'claim-ended')
        return `a checkpoint took back what its owner had given up (${before.reason})`;
      if (after.state !== 'in_progress') return `checkpoint: ${change}`;
      return faultOfSteps(before.steps, after.steps);
    case 'finish':
      if (before.state === 'completed' || before.state === 'failed') return `finish: ${change}`;
      if ((request as FinishRequest).unbindFingerprint && after.fingerprint !== null)
        return 'a key stayed bound that its owner let go';
      return after.state === (request as FinishRequest).to ? null : `finish: ${change}`;
    case 'settle':
      return before.state === 'unknown' && after.state === (request as SettleRequest).to
        ? null
        : `settle: ${change}`;
    case 'postpone':
      if (before.inquiries !== (request as PostponeRequest).inquiries)
        return 'a look at an unknown outcome was postponed by somebody who no longer had it';
      return onlyLooked(before, after, before.inquiries) ? null : `postpone: ${change}`;
    case 'reopen':
      if (trusted(before, now) && !isHeldBack(t, after)) return 'a reopened key may run too early (F62)';
      if (after.claimId === before.claimId) return 'a reopened record kept its fence';
      return change === 'failed → retryable' ? null : `reopen: ${change}`;
    default:
      return verb satisfies never;
  }
}

/** As records keep steps: what the auditor needs of them. */
interface KeptStep {
  readonly kind: string;
  readonly name: string;
  readonly done?: { readonly result: unknown } | null;
}

/** The steps of a record. */
export function keptSteps(steps: string | null): readonly KeptStep[] {
  return steps === null ? [] : (JSON.parse(steps) as { readonly steps: readonly KeptStep[] }).steps;
}

/** What is recorded stays: only an intent without a result, which is the last, may change or go. */
function faultOfSteps(before: string | null, after: string | null): string | null {
  if (after !== null && keptSteps(after).length === 0) return 'an emptied list of steps was kept (F76)';
  const [was, is] = [keptSteps(before), keptSteps(after)];
  const isKept = was.every((step, i) => step.done === null || JSON.stringify(step) === JSON.stringify(is[i]));
  if (!isKept) return 'a recorded result was lost or written over';
  const isOpen = is.some((step, i) => step.done === null && i < is.length - 1);
  return isOpen ? 'a step was recorded behind an open intent' : null;
}

/** By default after 30 days. */
const UNKNOWN_MAX_MS = 2_592_000_000;

function faultOfNeverKnown({ now }: Transition, before: SamekeyRecord, after: SamekeyRecord): string | null {
  if (before.lockedUntil + UNKNOWN_MAX_MS > now) return 'an unknown outcome was given up before its time';
  return after.state === 'failed' && after.response !== null ? null : `sweep: unknown → ${after.state}`;
}

function faultOfTake({ now }: Transition, before: SamekeyRecord, after: SamekeyRecord): string | null {
  if (before.reconcileAfter === null || before.reconcileAfter > now)
    return `a ${before.state} record was taken before it was due`;
  return onlyLooked(before, after, before.inquiries + 1) ? null : 'taking an unknown outcome changed it';
}

/** Whether the record is as unknown as before: nothing but the next look and the count of looks is another. */
function onlyLooked(before: SamekeyRecord, after: SamekeyRecord, inquiries: number): boolean {
  if (before.state !== 'unknown' || after.state !== 'unknown' || after.reconcileAfter === null) return false;
  return after.inquiries === inquiries && after.reason === before.reason && after.proof === before.proof;
}

function isOtherRequest(before: SamekeyRecord, request: object | null): boolean {
  const { fingerprint: asked } = request as ClaimRequest;
  if (before.fingerprint === null) return false;
  return asked.label !== before.fingerprint.label || asked.digest !== before.fingerprint.digest;
}

function mayExpire({ state }: SamekeyRecord): boolean {
  return state === 'completed' || state === 'failed' || state === 'retryable';
}

/** An intent without a result keeps its record beyond its time. */
function expires(record: SamekeyRecord): boolean {
  return mayExpire(record) && (record.state !== 'retryable' || record.intentAt === null);
}

/** Nothing ever ran there: a pointer that was not laid to its end, or a place that was given back for one. */
function isVacant({ state, claimId, reason, steps }: SamekeyRecord): boolean {
  if (state === 'completed' || state === 'failed' || steps !== null) return false;
  return claimId.startsWith('pointer:') || (state === 'retryable' && reason === 'former-name-expired');
}

function purgeable(record: SamekeyRecord, now: number): boolean {
  return expires(record) && record.expiresAt + record.tombstoneMs <= now;
}
