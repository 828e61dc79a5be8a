/**
 * What the owner of a claim may do to its record while it runs: hold renewals still, renew by hand, look. For handlers
 * that write the record themselves, in transactions and phases.
 *
 * Invariant: everything goes through the dispatcher under the attempt's fence; an answer that does not come in time is
 * `unclear`, never guessed.
 */

import type { RunningAttempt } from './attempt.ts';
import type { Dispatch } from './dispatch.ts';
import { FenceLostError, isStoreError, StoreError } from '../core/errors.ts';
import { CLAIM_ENDED } from '../store/machine/decision.ts';
import type { SamekeyRecord, State } from '../core/record.ts';
import type { Recording } from './recording.ts';
import type { CheckpointRequest, CheckpointResult, RenewResult } from '../store/store.ts';
import type { Reservation } from '../store/transaction.ts';
import type { ProbePoint, World } from '../core/world.ts';

/** The owner's hand on its record. */
export interface Owner {
  readonly attempt: RunningAttempt;
  readonly world: World;
  /** Largest answer the store keeps whole, in bytes; null for no limit of its own. */
  readonly recordSizeMaxBytes: number | null;
  /**
   * How long the claim has left by this process's clock, in milliseconds; counted from when its last renewal was sent.
   */
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
  /**
   * Notes the steps so far and renews the claim. Rejects with `StoreError` when the store cannot say whether it did:
   * then the same may be asked again. No copy of it that arrives late is applied once anything else was written.
   */
  checkpoint(request: CheckpointRequest): Promise<CheckpointResult>;
  /**
   * Makes the record of an attempt whose transaction has reserved the key, if the store can at once; else it is made
   * when the attempt's end is written. Before a rollback nobody else has the key yet.
   */
  note(): Promise<void>;
  /** Who has the key that the attempt's transaction has reserved; undefined when the store cannot say. */
  reservation(): Promise<Reservation | undefined>;
  /** The record as it is; undefined when the store cannot say. Presence is proof, absence is not. */
  look(): Promise<SamekeyRecord | null | undefined>;
  probe(point: ProbePoint): Promise<void>;
  /**
   * Tells that a call of this effect may have had its effect although the record went on without it; `found` null:
   * nobody could look.
   */
  contradicts(effect: string, found: State | null): void;
  /** Tells of a misuse, once for the operation. */
  misuse(code: string, message: string): void;
  /** Work that a closing engine waits for, within its time, though the attempt has ended. */
  track(work: Promise<unknown>): void;
}

/** What owners are made with, the same for all of an engine. */
export interface OwnerOptions {
  readonly world: World;
  readonly dispatch: Dispatch;
  readonly recording: Pick<Recording, 'record'>;
  readonly callTimeMaxMs: number;
  readonly recordSizeMaxBytes: number | null;
  readonly contradicts: (attempt: RunningAttempt, effect: string, found: State | null) => void;
  readonly misuse: (code: string, message: string, operation: string) => void;
  readonly track: (work: Promise<unknown>) => void;
}

/**
 * Writes that meet an unexpected count of renewals are made upon the count that was found, so often at most in one
 * call.
 */
const UPON_TRIES_MAX = 5;

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
    for (let tries = 1; tries <= UPON_TRIES_MAX; tries += 1) {
      const [sentAt, sentWallAt] = [world.monotonicNow(), world.wallNow()];
      const upon = { ...request, renewals: attempt.renewals };
      const result = await dispatch.checkpoint(upon, sentAt + callTimeMaxMs);
      if (result.kind === 'applied') attempt.renewed(sentAt, sentWallAt);
      if (result.kind !== 'refused' || !this.#isHeld(result.record)) return result;
      // Its claim stands, and something was written since: a renewal, or this very write, whose reply was lost.
      const { record } = result;
      attempt.renewals = record.renewals;
      const isSame = record.steps === request.steps && record.recoveryPoint === request.recoveryPoint;
      if (isSame && !isSealed(record)) return { kind: 'applied' };
    }
    throw new StoreError('Renewals kept coming between this process and its checkpoint.', { applied: 'no' });
  }

  /** Whether the record is still in this owner's hand, or only given up without it. */
  #isHeld(record: SamekeyRecord | null): record is SamekeyRecord {
    const { fence } = this.attempt;
    if (record?.claimId !== fence.claimId || record.attempt !== fence.attempt) return false;
    return record.state === 'in_progress' || (record.state === 'unknown' && record.reason === CLAIM_ENDED);
  }

  async note(): Promise<void> {
    // Its handler ran on after it had ended: a claim now would be nobody's.
    if (this.attempt.lost) return;
    const { recording, callTimeMaxMs } = this.#options;
    const timeMaxMs = Math.min(NOTE_TIME_MAX_MS, callTimeMaxMs);
    try {
      await recording.record(this.attempt, this.world.monotonicNow() + timeMaxMs);
    } catch {
      // Told by the dispatcher. The end of the attempt is written with its record.
    }
  }

  contradicts(effect: string, found: State | null): void {
    this.#options.contradicts(this.attempt, effect, found);
  }

  misuse(code: string, message: string): void {
    this.#options.misuse(code, message, this.attempt.operation);
  }

  track(work: Promise<unknown>): void {
    this.#options.track(work);
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

  async reservation(): Promise<Reservation | undefined> {
    const { id, fingerprint } = this.attempt;
    const { dispatch, callTimeMaxMs } = this.#options;
    try {
      return await dispatch.reservation({ ...id, fingerprint }, this.world.monotonicNow() + callTimeMaxMs);
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

/** A transaction that is to be rolled back holds its locks no longer than this for its record, in milliseconds. */
const NOTE_TIME_MAX_MS = 250;

/** Whether the record holds what cannot be opened now. */
function isSealed(record: SamekeyRecord | null): boolean {
  return record?.unreadable !== undefined;
}
