/**
 * What the owner of a claim may do to its record while it runs: hold renewals still, renew by hand, look. For handlers that write
 * the record themselves, in transactions and phases.
 *
 * Invariant: everything goes through the dispatcher under the attempt's fence; an answer that does not come in time is
 * `unclear`, never guessed.
 */

import type { RunningAttempt } from './attempt.ts';
import type { Dispatch } from './dispatch.ts';
import { FenceLostError, isStoreError } from './errors.ts';
import type { SamekeyRecord } from './record.ts';
import type { CheckpointRequest, CheckpointResult, RenewResult } from './store.ts';
import type { ProbePoint, World } from './world.ts';

/** The owner's hand on its record. */
export interface Owner {
  readonly attempt: RunningAttempt;
  readonly world: World;
  /** Largest answer the store keeps whole, in bytes; null for no limit of its own. */
  readonly recordSizeMaxBytes: number | null;
  /** How long the claim has left by this process's clock, in milliseconds; counted from when its last renewal was sent. */
  claimLeftMs(): number;
  /**
   * Renewals stand still from now on. Waits for one under way, then renews unless the claim has `leftMs`. Throws
   * `FenceLostError` when the claim is not this attempt's any more, `StoreError` when the store cannot say.
   */
  hold(leftMs: number): Promise<void>;
  /** Renewals go on. */
  letGo(): void;
  /** One renewal, repeated while the row is locked, until `deadline` (monotonic). */
  renew(deadline: number): Promise<Exclude<RenewResult, { kind: 'busy' }> | { readonly kind: 'unclear' }>;
  /** Notes the steps so far and renews the claim. Rejects with `StoreError` when the store cannot say whether it did. */
  checkpoint(request: CheckpointRequest): Promise<CheckpointResult>;
  /** The record as it is; undefined when the store cannot say. Presence is proof, absence is not. */
  look(): Promise<SamekeyRecord | null | undefined>;
  probe(point: ProbePoint): Promise<void>;
}

/** Makes the owner of a running attempt. */
export function createOwner(
  attempt: RunningAttempt,
  {
    world,
    dispatch,
    callTimeMaxMs,
    recordSizeMaxBytes,
  }: {
    readonly world: World;
    readonly dispatch: Dispatch;
    readonly callTimeMaxMs: number;
    readonly recordSizeMaxBytes: number | null;
  },
): Owner {
  const { id, fence, settings } = attempt;

  const owner: Owner = {
    attempt,
    world,
    recordSizeMaxBytes,
    claimLeftMs() {
      // Whichever clock says less: one may have stood still while the machine slept, the other may have been set.
      const passedMs = Math.max(
        world.monotonicNow() - attempt.renewedAt,
        world.wallNow() - attempt.renewedWallAt,
      );
      return settings.claimTtlMs - passedMs;
    },

    async hold(leftMs) {
      attempt.held = true;
      if (attempt.renewing !== null) await attempt.renewing;
      if (attempt.lost) throw new FenceLostError();
      if (owner.claimLeftMs() >= leftMs) return;
      const [sentAt, sentWallAt] = [world.monotonicNow(), world.wallNow()];
      const result = await dispatch.renew(
        { ...id, ...fence, claimTtlMs: settings.claimTtlMs },
        sentAt + callTimeMaxMs,
      );
      if (result.kind !== 'renewed') throw new FenceLostError();
      attempt.renewed(sentAt, sentWallAt);
    },

    letGo() {
      attempt.held = false;
    },

    async renew(deadline) {
      const [sentAt, sentWallAt] = [world.monotonicNow(), world.wallNow()];
      try {
        const result = await dispatch.renew({ ...id, ...fence, claimTtlMs: settings.claimTtlMs }, deadline);
        if (result.kind === 'renewed') attempt.renewed(sentAt, sentWallAt);
        // Whether this attempt's own write stands there is read from what the record holds.
        const says = result.kind !== 'busy' && !(result.kind === 'lost' && isSealed(result.record));
        return says ? result : { kind: 'unclear' };
      } catch (error) {
        if (isStoreError(error)) return { kind: 'unclear' };
        throw error;
      }
    },

    async checkpoint(request) {
      const [sentAt, sentWallAt] = [world.monotonicNow(), world.wallNow()];
      const result = await dispatch.checkpoint(request, sentAt + callTimeMaxMs);
      if (result.kind === 'applied') attempt.renewed(sentAt, sentWallAt);
      return result;
    },

    async look() {
      try {
        const record = await dispatch.find(id, world.monotonicNow() + callTimeMaxMs);
        return isSealed(record) ? undefined : record;
      } catch (error) {
        if (isStoreError(error)) return undefined;
        throw error;
      }
    },

    async probe(point) {
      if (world.probe !== undefined) await world.probe(point, id);
    },
  };
  return owner;
}

/** Whether the record holds what cannot be opened now. */
function isSealed(record: SamekeyRecord | null): boolean {
  return record?.unreadable !== undefined;
}
