/**
 * What ends or moves on without its owner: claims that are over, deadlines, unknown outcomes that somebody asks about.
 */

import type { SamekeyRecord } from '../../core/record.ts';
import { problemResponse } from '../../core/response.ts';
import type { HandResult, PostponeRequest, SweepOptions, Swept, TakeUnknownRequest } from '../store.ts';
import {
  CLAIM_ENDED,
  type Decision,
  leftToCode,
  lifeAfter,
  NEVER,
  NEVER_KNOWN,
  NEVER_STARTED,
  refused,
  sameFence,
  type View,
} from './decision.ts';

/** How long an outcome stays unknown at most, in milliseconds: 30 days (contract §3.6). */
export const UNKNOWN_MAX_MS: number = 30 * 24 * 60 * 60 * 1_000;

/**
 * The sweeper ends what is over: a claim, a deadline, the time to find an outcome out; undefined when there is nothing
 * to end.
 */
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
  if (from === 'unknown') return neverKnown(record, view);
  // Steps are no proof that nothing was begun.
  return record.steps === null ? neverStarted(record, view) : leftToCode(record, view);
}

/** 408: the request came, and nobody took it up (contract §3.6). */
function neverStarted(record: SamekeyRecord, view: View): SamekeyRecord {
  const { now } = view;
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
    expiresAt: lifeAfter(record, view),
  };
}

/** 409, for good: it may have taken effect, so it never runs again by itself (contract §3.6). */
function neverKnown(record: SamekeyRecord, view: View): SamekeyRecord {
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
    finishedAt: view.now,
    expiresAt: lifeAfter(record, view),
  };
}

/** Nobody spoke for it before its claim ended. */
export function endClaim(open: SamekeyRecord, view: View): SamekeyRecord {
  // It is over: where time is watched and not compared, the next claim must not be told otherwise.
  const record = { ...open, lockedUntil: Math.min(open.lockedUntil, view.now) };
  return record.whenClaimEnds === 'resume'
    ? {
        ...record,
        state: 'retryable',
        proof: 'policy',
        reason: CLAIM_ENDED,
        expiresAt: lifeAfter(record, view),
      }
    : { ...record, state: 'unknown', reason: CLAIM_ENDED, reconcileAfter: view.now, inquiries: 0 };
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
 * A reconciler learned nothing: the record is looked at later, or by an operator. The count of inquiries is part of its
 * fence: whoever took it since is not disturbed. What the record says of its end stays, because it decides whether its
 * living owner may take it back.
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
