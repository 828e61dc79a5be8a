/**
 * Claims, renewals, checkpoints and ends: each row is one script call, and a replay, a fresh claim, an end and a
 * renewal need no second one.
 */

import { type NewAuditRow, transitionRow } from '../../store/audit.ts';
import {
  decideCheckpoint,
  decideClaim,
  decideFinish,
  decideRenew,
  serverView,
} from '../../store/machine/index.ts';
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
} from '../../store/store.ts';
import { exact, shown } from '../sql/record-row.ts';
import { endOf, fieldsOf, madeOf, pairsOf, tailOf } from './fields.ts';
import { CLAIM, CLAIMS, ENDS, FINISH, RENEW } from './hot-statements.ts';
import { AGE_OF, CALLER, OPEN, REAP } from './lua.ts';
import { countedFields, type Verb } from './rows.ts';
import { scriptOf } from './server.ts';
import { textArgument } from './text-argument.ts';

const BUSY = Object.freeze({ kind: 'busy' as const });

/** A fresh key, as the state table has it at time zero: its times are then how long from now. */
function freshAtZero(request: ClaimRequest): SamekeyRecord {
  return decideClaim(null, request, serverView(null, 0)).write as SamekeyRecord;
}

/** Asks for a claim. */
export const claimVerb: Verb<ClaimRequest, ClaimResult> = {
  script: scriptOf(CLAIM),
  args(request) {
    const fresh = freshAtZero(request);
    const { lockedUntil, expiresAt, state, attempt } = fresh;
    const { set } = fieldsOf(fresh);
    return [
      String(lockedUntil),
      String(expiresAt),
      state,
      String(attempt),
      tailOf(fresh),
      String(set.length),
      ...set,
    ];
  },
  many: {
    script: scriptOf(CLAIMS),
    takes: ({ entry, input }) => entry !== 'accept' && input === null,
    add(request, { keys: at }, keys, args) {
      const fresh = freshAtZero(request);
      keys.push(at[0] as string, at[OPEN] as string, at[CALLER] as string);
      args.push(String(fresh.lockedUntil), String(fresh.expiresAt), tailOf(fresh), madeOf(fresh));
    },
  },
  transitionOf: (request) => transitionRow(null, freshAtZero(request)) as NewAuditRow,
  done: (request, now) => decideClaim(null, request, serverView(null, now)).result,
  decide: decideClaim,
  busy: BUSY,
};

/** Extends a claim. */
export const renewVerb: Verb<RenewRequest, RenewResult> = {
  script: scriptOf(RENEW),
  args: ({ claimId, attempt, claimTtlMs }) => [claimId, String(attempt), String(claimTtlMs), '', '', '0'],
  done: () => ({ kind: 'renewed' }),
  decide: decideRenew,
  busy: BUSY,
};

/** Notes what was done so far. */
export const checkpointVerb: Verb<CheckpointRequest, CheckpointResult> = {
  script: scriptOf(RENEW),
  args({ claimId, attempt, claimTtlMs, intentOpen, isSameIntent, recoveryPoint, steps, renewals }) {
    const change = pairsOf([
      ['steps', steps],
      ['recovery_point', shown(recoveryPoint)],
    ]);
    const intent = intentOpen ? (isSameIntent === true ? '' : '1') : '0';
    const upon = String(renewals ?? '');
    return [claimId, String(attempt), String(claimTtlMs), intent, upon, ...countedFields(change)];
  },
  done: () => ({ kind: 'applied' }),
  decide: decideCheckpoint,
  busy: BUSY,
};

/** Ends an attempt that lives as its owner says. */
export const finishVerb: Verb<FinishRequest, FinishResult> = {
  script: scriptOf(FINISH),
  // What forgets its fingerprint is written whole.
  can: ({ unbindFingerprint }) => !unbindFingerprint,
  args(request) {
    const end = ended(request);
    return [
      exact(request.claimId),
      String(request.attempt),
      request.handedOver ? 'pending' : 'in_progress',
      request.to,
      isFinal(request) ? '1' : '0',
      request.to === 'unknown' ? String(request.reconcileAfterMs) : '',
      String(request.extendMs),
      ...countedFields(
        pairsOf([
          ['end', endOf(end) || null],
          ['response_body', end.response?.body ?? null],
        ]),
      ),
    ];
  },
  many: {
    script: scriptOf(ENDS),
    takes: (request) => isFinal(request) && !request.handedOver && !request.unbindFingerprint,
    add(request, { keys: at }, keys, args) {
      const end = ended(request);
      const { scope, claimId, attempt, to, extendMs } = request;
      const body = end.response?.body ?? null;
      const age = to === 'completed' ? AGE_OF.completed : AGE_OF.failed;
      keys.push(at[0] as string, at[OPEN] as string, at[age] as string, at[REAP] as string);
      args.push(scope, exact(claimId), String(attempt), to, String(extendMs), endOf(end));
      args.push(body === null ? '' : textArgument(body));
    },
  },
  transitionOf(request) {
    const after = ended(request);
    const from = request.handedOver ? 'pending' : 'in_progress';
    return transitionRow({ ...after, state: from }, after) as NewAuditRow;
  },
  done: (_request, _now, expiresAt) => ({ kind: 'applied', expiresAt: expiresAt as number }),
  decide: decideFinish,
  busy: BUSY,
};

function isFinal({ to }: FinishRequest): boolean {
  return to === 'completed' || to === 'failed';
}

/** How the record of a living attempt ends by the state table; the times are the script's. */
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
    attemptMax: 0,
    tombstoneMs: 0,
    recoveryPoint: null,
    steps: null,
    intentAt: null,
    input: null,
  };
  return decideFinish(living, request, serverView(living, 0)).write as SamekeyRecord;
}
