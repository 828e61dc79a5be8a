/**
 * Claims, renewals, checkpoints and ends: each row is one script call, and a replay, a fresh claim, an end and a renewal need no
 * second one.
 */

import { decideCheckpoint, decideClaim, decideFinish, decideRenew, serverView } from '../../core/machine.ts';
import type { SamekeyRecord } from '../../core/record.ts';
import type {
  CheckpointRequest,
  CheckpointResult,
  ClaimRequest,
  ClaimResult,
  FinishRequest,
  FinishResult,
  RenewRequest,
  RenewResult,
} from '../../core/store.ts';
import { exact, shown } from '../sql/record-row.ts';
import { changeOf, fieldsOf } from './fields.ts';
import type { Argument } from './redis-client.ts';
import type { Verb } from './rows.ts';
import { scriptOf } from './server.ts';
import { CLAIM, FINISH, RENEW } from './statements.ts';

const BUSY = Object.freeze({ kind: 'busy' as const });

/** A fresh key, as the state table has it at time zero: its times are then how long from now. */
function freshAtZero(request: ClaimRequest): SamekeyRecord {
  return decideClaim(null, request, serverView(null, 0)).write as SamekeyRecord;
}

/** Times that the script works out by the server's clock. */
const BY_CLOCK = new Set(['created_at', 'locked_until', 'expires_at']);

/** Asks for a claim. */
export const claimVerb: Verb<ClaimRequest, ClaimResult> = {
  script: scriptOf(CLAIM),
  args(request) {
    const fresh = freshAtZero(request);
    const fields = fieldsOf(fresh);
    const args: Argument[] = [String(fresh.lockedUntil), String(fresh.expiresAt)];
    for (let i = 0; i < fields.length; i += 2) {
      if (!BY_CLOCK.has(fields[i] as string)) args.push(fields[i] as string, fields[i + 1] as Argument);
    }
    return args;
  },
  done: (request, now) => decideClaim(null, request, serverView(null, now)).result,
  decide: decideClaim,
  busy: BUSY,
};

/** Extends a claim. */
export const renewVerb: Verb<RenewRequest, RenewResult> = {
  script: scriptOf(RENEW),
  args: ({ claimId, attempt, claimTtlMs }) => [claimId, String(attempt), String(claimTtlMs), '', '0'],
  done: () => ({ kind: 'renewed' }),
  decide: decideRenew,
  busy: BUSY,
};

/** Notes what was done so far. */
export const checkpointVerb: Verb<CheckpointRequest, CheckpointResult> = {
  script: scriptOf(RENEW),
  args({ claimId, attempt, claimTtlMs, intentOpen, recoveryPoint, steps }) {
    const point = shown(recoveryPoint);
    const change =
      point === null
        ? ['2', 'steps', steps, 'recovery_point']
        : ['4', 'steps', steps, 'recovery_point', point];
    return [claimId, String(attempt), String(claimTtlMs), intentOpen ? '1' : '0', ...change];
  },
  done: () => ({ kind: 'applied' }),
  decide: decideCheckpoint,
  busy: BUSY,
};

/** What an end changes beside its times. */
const OF_THE_END = new Set([
  'state',
  'proof',
  'reason',
  'response_status',
  'response_headers',
  'response_trailers',
  'response_body',
  'inquiries',
  'finished_at',
  'reconcile_after',
]);
const AND_UNBOUND = new Set([...OF_THE_END, 'fingerprint_label', 'fingerprint_digest']);

/** Ends an attempt that lives as its owner says. */
export const finishVerb: Verb<FinishRequest, FinishResult> = {
  script: scriptOf(FINISH),
  args(request) {
    const isFinal = request.to === 'completed' || request.to === 'failed';
    return [
      exact(request.claimId),
      String(request.attempt),
      request.handedOver ? 'pending' : 'in_progress',
      isFinal ? '1' : '0',
      request.to === 'unknown' ? String(request.reconcileAfterMs) : '',
      String(request.extendMs),
      ...changeOf(ended(request), request.unbindFingerprint ? AND_UNBOUND : OF_THE_END),
    ];
  },
  done: (_request, _now, [expiresAt]) => ({ kind: 'applied', expiresAt: expiresAt as number }),
  decide: decideFinish,
  busy: BUSY,
};

/** The columns of {@link OF_THE_END} as the state table gives them to any living attempt; the times among them are the script's. */
function ended(request: FinishRequest): SamekeyRecord {
  const { scope, key, claimId, attempt } = request;
  const living: SamekeyRecord = {
    scope,
    key,
    claimId,
    attempt,
    operation: '',
    state: request.handedOver ? 'pending' : 'in_progress',
    lockedUntil: 0,
    claimTtlMs: 0,
    renewals: 0,
    whenClaimEnds: 'unknown',
    fingerprint: null,
    proof: null,
    reason: null,
    response: null,
    formatVersion: 0,
    sealKeyId: null,
    reconcileAfter: null,
    inquiries: 0,
    createdAt: 0,
    finishedAt: null,
    expiresAt: 0,
    replayMinMs: 0,
    tombstoneMs: 0,
    recoveryPoint: null,
    steps: null,
    intentAt: null,
    input: null,
  };
  const written = decideFinish(living, request, serverView(living, 0)).write as SamekeyRecord;
  return { ...written, reconcileAfter: null, finishedAt: null };
}
