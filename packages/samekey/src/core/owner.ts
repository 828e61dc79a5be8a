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

/** What owners are made with, the same for all of an engine. */
export interface OwnerOptions {
  readonly world: World;
  readonly dispatch: Dispatch;
  readonly callTimeMaxMs: number;
  readonly recordSizeMaxBytes: number | null;
}

/** Makes the owner of a running attempt. */
export function createOwner(attempt: RunningAttempt, options: OwnerOptions): Owner {
  return new RunningOwner(attempt, options);
}

/** A class, because every attempt has one and few use it: its methods are made once. */
class RunningOwner implements Owner {
  readonly attempt: RunningAttempt;
  readonly #options: OwnerOptions;

  constructor(attempt: RunningAttempt, options: OwnerOptions) {
    this.attempt = attempt;
    this.#options = options;
  }

  get world(): World {
    return this.#options.world;
  }

  get recordSizeMaxBytes(): number | null {
    return this.#options.recordSizeMaxBytes;
  }

  claimLeftMs(): number {
    const { world, attempt } = this;
    // Whichever clock says less: one may have stood still while the machine slept, the other may have been set.
    const passedMs = Math.max(
      world.monotonicNow() - attempt.renewedAt,
      world.wallNow() - attempt.renewedWallAt,
    );
    return attempt.settings.claimTtlMs - passedMs;
  }

  async hold(leftMs: number): Promise<void> {
    const { attempt } = this;
    attempt.held = true;
    if (attempt.renewing !== null) await attempt.renewing;
    if (attempt.lost) throw new FenceLostError();
    if (this.claimLeftMs() >= leftMs) return;
    const result = await this.#renewOnce(null);
    if (result.kind !== 'renewed') throw new FenceLostError();
  }

  letGo(): void {
    this.attempt.held = false;
  }

  async renew(
    deadline: number,
  ): Promise<Exclude<RenewResult, { kind: 'busy' }> | { readonly kind: 'unclear' }> {
    try {
      const result = await this.#renewOnce(deadline);
      // Whether this attempt's own write stands there is read from what the record holds.
      const says = result.kind !== 'busy' && !(result.kind === 'lost' && isSealed(result.record));
      return says ? result : { kind: 'unclear' };
    } catch (error) {
      if (isStoreError(error)) return { kind: 'unclear' };
      throw error;
    }
  }

  /** `deadline` null: as long as a call of the store may take. */
  async #renewOnce(deadline: number | null): Promise<RenewResult> {
    const { attempt, world } = this;
    const { dispatch, callTimeMaxMs } = this.#options;
    const [sentAt, sentWallAt] = [world.monotonicNow(), world.wallNow()];
    const { claimTtlMs } = attempt.settings;
    const request = { ...attempt.id, ...attempt.fence, claimTtlMs };
    const result = await dispatch.renew(request, deadline ?? sentAt + callTimeMaxMs);
    if (result.kind === 'renewed') attempt.renewed(sentAt, sentWallAt);
    return result;
  }

  async checkpoint(request: CheckpointRequest): Promise<CheckpointResult> {
    const { attempt, world } = this;
    const { dispatch, callTimeMaxMs } = this.#options;
    const [sentAt, sentWallAt] = [world.monotonicNow(), world.wallNow()];
    const result = await dispatch.checkpoint(request, sentAt + callTimeMaxMs);
    if (result.kind === 'applied') attempt.renewed(sentAt, sentWallAt);
    return result;
  }

  async look(): Promise<SamekeyRecord | null | undefined> {
    const { dispatch, callTimeMaxMs } = this.#options;
    try {
      const record = await dispatch.find(this.attempt.id, this.world.monotonicNow() + callTimeMaxMs);
      return isSealed(record) ? undefined : record;
    } catch (error) {
      if (isStoreError(error)) return undefined;
      throw error;
    }
  }

  async probe(point: ProbePoint): Promise<void> {
    const { world, attempt } = this;
    if (world.probe !== undefined) await world.probe(point, attempt.id);
  }
}

/** Whether the record holds what cannot be opened now. */
function isSealed(record: SamekeyRecord | null): boolean {
  return record?.unreadable !== undefined;
}
