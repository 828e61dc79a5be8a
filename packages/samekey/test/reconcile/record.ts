/** A record for tests of pure decisions. */

import type { SamekeyRecord } from '../../src/core/record.ts';

/** Made of what matters to the test. */
export function recordOf(change: Partial<SamekeyRecord> = {}): SamekeyRecord {
  return {
    scope: 't|pay',
    key: 'k',
    claimId: 'c1',
    attempt: 1,
    operation: 'pay',
    state: 'unknown',
    lockedUntil: 0,
    claimTtlMs: 30_000,
    renewals: 0,
    whenClaimEnds: 'unknown',
    fingerprint: { label: 'run1', digest: 'd' },
    proof: null,
    reason: null,
    response: null,
    formatVersion: 1,
    sealKeyId: null,
    reconcileAfter: null,
    inquiries: 0,
    createdAt: 0,
    finishedAt: null,
    expiresAt: 86_400_000,
    replayMinMs: 0,
    attemptMax: 10,
    tombstoneMs: 0,
    recoveryPoint: null,
    steps: null,
    intentAt: null,
    input: null,
    ...change,
  };
}
