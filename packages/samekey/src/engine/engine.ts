/**
 * The engine: begin → run → finish, the only orchestrator. It asks the store for a claim (`claimer`), runs the handler
 * under it, tells the store how it ended (`settler`), and says what the request met. It knows no HTTP, no driver, no
 * clock.
 *
 * Invariants
 * - The handler starts only under a granted claim that has not run out by this process's clock, and at most once per
 *   claim.
 * - An answer is given only if it is the record's: stored now, or found there; an answer that could not be stored in
 *   time says so (`stored: false`).
 * - If the store cannot answer before the handler ran, the handler does not run.
 * - Every write carries the fence of the claim that allowed it.
 */

import type { Refused } from './admission.ts';
import type { Begun } from './claimer.ts';
import type { Emit } from './events.ts';
import type { FingerprintSecrets } from '../fingerprint/fingerprint.ts';
import type { Met } from './flight.ts';
import { createKeptBytes, type KeptBytes } from './kept-bytes.ts';
import { asAccepted, stillRunning, unavailable } from './meeting.ts';
import type { Outcome } from '../core/outcome.ts';
import { createParts, type EngineOptions, type Parts } from './parts.ts';
import { idText, type RecordId, type SamekeyRecord } from '../core/record.ts';
import type { Issue } from '../core/schema.ts';
import type { OperationSettings } from '../core/settings.ts';
import type { Store } from '../store/store.ts';
import { NOTHING_RAN, type Ran, Telling } from './telling.ts';
import type { UsualLengths } from './usual.ts';
import { createValueFingerprinter, type ValueFingerprinter } from '../fingerprint/value-fingerprint.ts';
import type { Handler, Work } from './work.ts';
import type { World } from '../core/world.ts';

/** The engine of one Samekey instance. */
export class Engine {
  readonly world: World;
  readonly readVersion: number;
  readonly fingerprintSecrets: FingerprintSecrets | null;
  /** Fingerprints of what `run` is given. */
  readonly values: ValueFingerprinter;
  /** How long operations usually run. */
  readonly usual: UsualLengths;
  /** Sends an event; null when nobody listens. */
  readonly emit: Emit;
  /** Room for copies of answers that stream. */
  readonly kept: KeptBytes;
  readonly #store: Store;
  readonly #telling: Telling;
  readonly #parts: Parts;
  #closing = false;

  constructor(options: EngineOptions) {
    const { store, world, onEvent, callTimeMaxMs, fingerprintSecrets } = options;
    const { serverClock } = store.capabilities;
    this.#store = store;
    this.#telling = new Telling({ world, onEvent, callTimeMaxMs, serverClock });
    this.#parts = createParts(options, this.#telling, () => this.#closing);
    this.world = world;
    this.readVersion = options.readVersion;
    this.fingerprintSecrets = fingerprintSecrets;
    this.values = createValueFingerprinter(world, fingerprintSecrets);
    this.usual = this.#parts.usual;
    this.emit = this.#telling.emit;
    this.kept = createKeptBytes(options.keptBytesMax);
  }

  /** Runs the handler if this request may run it, else says what it met. Rejects only for bugs. */
  async run(work: Work, handler: Handler): Promise<Outcome> {
    this.#store.refuseCaller?.();
    const { cache, standing, underWay } = this.#parts;
    const startedAt = this.world.monotonicNow();
    this.#telling.shortTimes(work);
    const known = this.#closing ? null : cache.get(work.id, work.fingerprint);
    if (known !== null) {
      const replay: Outcome = { kind: 'replay', ...known };
      this.#telling.outcome(replay, work, startedAt, NOTHING_RAN, true);
      return replay;
    }
    const ran: Ran = { attempt: null, accepted: false };
    underWay.enter();
    let outcome: Outcome;
    try {
      const fresh =
        work.ifNew === null || work.ifNew === undefined ? null : await standing.ifNew(work, work.ifNew);
      outcome = fresh ?? (await this.#run(work, handler, startedAt + work.settings.waitMaxMs, ran));
    } finally {
      underWay.leave();
    }
    this.#telling.outcome(outcome, work, startedAt, ran, false);
    return outcome;
  }

  /**
   * What a request meets whose input is not valid (F102): a record that is there answers as always, so that a schema
   * which a deploy made stricter turns no replay into a refusal. Nothing is claimed. Rejects only for bugs.
   */
  async meetInvalid(work: Work, issues: readonly Issue[]): Promise<Outcome> {
    this.#store.refuseCaller?.();
    const startedAt = this.world.monotonicNow();
    const outcome = (await this.#standingInvalid(work)) ?? { kind: 'request-invalid', issues };
    this.#telling.outcome(outcome, work, startedAt, NOTHING_RAN, false);
    return outcome;
  }

  /** What its record says, or the rule for fresh keys that it breaks too; null: only its input is wrong. */
  async #standingInvalid(work: Work): Promise<Outcome | null> {
    const { standing } = this.#parts;
    const stands = await standing.of(work);
    if (stands !== null || work.ifNew === null || work.ifNew === undefined) return stands;
    // A record that would run again stands for nothing, and its key is known all the same (F118).
    return standing.ifNew(work, work.ifNew);
  }

  /**
   * What a request meets whose body nobody will read, under any identity of its operation; null where its key is not
   * known.
   */
  async meetUnread(ids: readonly RecordId[], mayBeUnseen: boolean): Promise<Outcome | null> {
    this.#store.refuseCaller?.();
    return this.#parts.standing.unread(ids, mayBeUnseen);
  }

  /** Emits the outcome of a request that never got as far as `run`. */
  tellRefused(outcome: Outcome, operation: string, startedAt: number): void {
    this.#telling.refused(outcome, operation, startedAt);
  }

  /** Whether somebody may ask how a request stands, by the operation's limits; null: yes. */
  look(settings: OperationSettings, scope: string, operation: string): Promise<Refused | null> {
    return this.#parts.admission.look(settings.limits, scope, operation);
  }

  /** A record as it is now, for whoever asks how a request stands; undefined when the store cannot say. */
  find(id: RecordId): Promise<SamekeyRecord | null | undefined> {
    return this.#parts.standing.find(id);
  }

  /** The same of the record that a pointer there leads to. */
  findKept(id: RecordId): Promise<SamekeyRecord | null | undefined> {
    return this.#parts.standing.findKept(id);
  }

  /** Whether a transaction works on a key that may have no record yet; undefined when the store cannot say. */
  isReserved(id: RecordId): Promise<boolean | undefined> {
    return this.#parts.standing.isReserved(id);
  }

  /** Tells of a misuse, once per code; with `operation`, once for each. */
  misuse(code: string, message: string, operation = ''): void {
    this.#telling.misuse(code, message, operation);
  }

  /**
   * Takes no new claims, gives back those that no handler ran under, keeps renewing what runs for up to `drainMs`, then
   * stops. Resolves with how many were left, requests and claims; their records end as their way says.
   */
  async close(drainMs: number): Promise<number> {
    this.#closing = true;
    const { abandoned, admission, stops, underWay } = this.#parts;
    const deadline = this.world.monotonicNow() + drainMs;
    void abandoned.giveBack(deadline);
    if (underWay.count > 0 && drainMs > 0) await underWay.idle(this.world, drainMs);
    // Also those that were given up meanwhile (F73).
    const claimsLeft = await abandoned.giveBack(deadline);
    const left = underWay.count + claimsLeft;
    if (left > 0) this.emit?.({ type: 'close-left-running', count: left });
    for (const part of stops) part.stop();
    await admission.flush();
    return left;
  }

  async #run(work: Work, handler: Handler, waitUntil: number, ran: Ran): Promise<Outcome> {
    const text = idText(work.id);
    for (;;) {
      if (this.#closing) return unavailable('closing');
      let met: Met;
      const flight = this.#parts.flights.get(text);
      if (flight !== undefined) {
        const joined = await this.#parts.join(flight, work, waitUntil);
        if (joined === null) continue;
        met = joined;
      } else {
        const own = this.#parts.flights.open(text, work.fingerprint);
        let begun: Begun;
        try {
          begun = await this.#parts.admission.begin(work, handler.reserving ?? null);
        } catch (error) {
          this.#parts.flights.close(own, null);
          throw error;
        }
        if ('run' in begun) {
          this.#parts.flights.running(own, begun.run);
          ran.attempt = begun.run.number;
          return this.#parts.execute(begun.run, own, handler, work.entry);
        }
        met = begun;
        ran.accepted = begun.isNew === true;
        this.#parts.flights.close(own, met);
      }
      // Only a claim of another process is waited for here; one of this process has been waited for in memory.
      if (met.claimLeftMs <= 0 || met.outcome.kind !== 'in-progress')
        return asAccepted(work, met.outcome, met.isNobodys);
      const metAt = this.world.monotonicNow();
      const waited = { id: met.foundAt ?? work.id, isUnseen: met.isUnseen === true };
      if (!(await this.#parts.waiter.wait(waited, met.claimLeftMs, waitUntil)))
        return asAccepted(work, stillRunning(met, this.world.monotonicNow() - metAt), met.isNobodys);
    }
  }
}
