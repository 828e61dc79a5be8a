/** A work as a claim: the same for one that is a record of its own, and for one that a transaction makes. */

import type { ClaimRequest } from '../store/store.ts';
import type { Unfit } from './unfit.ts';
import type { Place, Work } from './work.ts';
import type { World } from '../core/world.ts';

/** What it is made with. */
interface ClaimRequestOptions {
  readonly world: Pick<World, 'newClaimId'>;
  readonly unfit: Pick<Unfit, 'has'>;
  readonly writeVersion: number;
  readonly readVersion: number;
}

/** Makes it, under a new claimId. */
export function claimRequestOf(
  work: Work,
  { id, fingerprint }: Pick<Place, 'id'> & Pick<Work, 'fingerprint'>,
  { world, unfit, writeVersion, readVersion }: ClaimRequestOptions,
): ClaimRequest {
  const { settings } = work;
  return {
    scope: id.scope,
    key: id.key,
    operation: work.operation,
    claimId: world.newClaimId(),
    claimTtlMs: settings.claimTtlMs,
    fingerprint,
    whenClaimEnds: settings.whenClaimEnds,
    retentionMs: settings.retentionMs,
    replayMinMs: settings.replayMinMs,
    tombstoneMs: settings.tombstoneMs,
    attemptMax: settings.attemptMax,
    formatVersion: writeVersion,
    readVersion,
    entry: work.entry,
    input: work.input,
    pendingTimeMaxMs: work.pendingTimeMaxMs,
    takesSteps: work.takesSteps === true && !unfit.has(id),
  };
}
