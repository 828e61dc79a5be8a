/** Requests of processes that use a store by its verbs: one attempt of a key, told apart by its claimId. */

import type { ClaimRequest, FinishRequest } from 'samekey';

/** A claim of a key. */
export function claimOf(key: string, claimId: string = `claim-${key}`): ClaimRequest {
  return {
    scope: 'processes',
    key,
    operation: 'work',
    claimId,
    claimTtlMs: 60_000,
    fingerprint: { label: 'none', digest: 'none' },
    whenClaimEnds: 'unknown',
    retentionMs: 3_600_000,
    replayMinMs: 3_600_000,
    tombstoneMs: 0,
    attemptMax: 10,
    formatVersion: 1,
    readVersion: 1,
    entry: 'run',
    input: null,
    pendingTimeMaxMs: 0,
  };
}

/** The end of its attempt. */
export function finishOf(key: string, claimId: string = `claim-${key}`): FinishRequest {
  return {
    scope: 'processes',
    key,
    claimId,
    attempt: 1,
    to: 'completed',
    proof: null,
    reason: null,
    response: { status: 200, headers: [], body: new TextEncoder().encode(key) },
    unbindFingerprint: false,
    extendMs: 0,
    reconcileAfterMs: 0,
    handedOver: false,
  };
}
