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

import { type Abandoned, createAbandoned } from './abandoned.ts';
import { type Admission, createAdmission, type Refused } from './admission.ts';
import type { Ending, RunningAttempt } from './attempt.ts';
import { differInPlaceOnly, HOPS_MAX } from './bridge/bridge.ts';
import { type Begun, type Claimer, createClaimer } from './claimer.ts';
import { createDispatch, type Dispatch } from './dispatch.ts';
import { isStoreError, isValueError } from '../core/errors.ts';
import type { Emit, EventListener, SamekeyEvent } from './events.ts';
import type { FingerprintSecrets } from '../fingerprint/fingerprint.ts';
import { type Flight, type FlightNews, Flights, type Met } from './flight.ts';
import { createKeptBytes, type KeptBytes } from './kept-bytes.ts';
import { callListener, textOfError } from '../core/listener.ts';
import { metOnly, outcomeSeen, shared, unavailable } from './meeting.ts';
import { type Outcome, retryAfter } from '../core/outcome.ts';
import { createOwner, type OwnerOptions } from './owner.ts';
import { createNoter } from './noter.ts';
import { isPointer, targetOf } from './bridge/pointer.ts';
import {
  idText,
  isExpired,
  isForgotten,
  isPurgeable,
  type RecordId,
  type SamekeyRecord,
} from '../core/record.ts';
import { about, createRenewer, type Renewer } from './renewer.ts';
import { createReplayCache, type ReplayCache } from './replay-cache.ts';
import { createSaver } from './saver.ts';
import type { Issue } from '../core/schema.ts';
import { createSettler, type Settler } from './settler.ts';
import type { OperationSettings } from '../core/settings.ts';
import type { Store } from '../store/store.ts';
import { Unfit } from './unfit.ts';
import { askAgainAfter, createUsualLengths, type Running, type UsualLengths } from './usual.ts';
import { createValueFingerprinter, type ValueFingerprinter } from '../fingerprint/value-fingerprint.ts';
import { createWaiter, type Waiter } from './waiter.ts';
import type { Handler, Work } from './work.ts';
import type { World } from '../core/world.ts';

/** Bounds of an engine, in milliseconds, rows and bytes. */
interface EngineOptions {
  readonly store: Store;
  readonly world: World;
  readonly callTimeMaxMs: number;
  readonly saveTimeMaxMs: number;
  readonly saveKeepMaxMs: number;
  readonly saveCountMax: number;
  readonly saveBytesMax: number;
  readonly waitersMax: number;
  readonly keptBytesMax: number;
  readonly replayCacheBytesMax: number;
  readonly replayCacheTimeMaxMs: number;
  readonly batchRowsMax: number;
  readonly batchBytesMax: number;
  /** Format written into records; during a deploy one behind what is read. */
  readonly writeVersion: number;
  /** The newest format that is read. What is read and what is written have versions of their own (F112). */
  readonly readVersion: number;
  readonly onEvent: EventListener | null;
  /** For fingerprints of values, and of routes that have no secrets of their own. */
  readonly fingerprintSecrets: FingerprintSecrets | null;
}

/** A claim is renewed at a third of it: one call may fail to answer, and the next still comes in time. */
const RENEWALS_MIN = 3;

/** The engine of one Samekey instance. */
export class Engine {
  readonly world: World;
  readonly readVersion: number;
  readonly fingerprintSecrets: FingerprintSecrets | null;
  /** Fingerprints of what `run` is given. */
  readonly values: ValueFingerprinter;
  /** How long operations usually run. */
  readonly usual: UsualLengths = createUsualLengths();
  /** Sends an event; null when nobody listens. */
  readonly emit: Emit;
  /** Room for copies of answers that stream. */
  readonly kept: KeptBytes;
  readonly #options: EngineOptions;
  readonly #dispatch: Dispatch;
  readonly #ownerOptions: OwnerOptions;
  readonly #renewer: Renewer;
  readonly #abandoned: Abandoned;
  readonly #claimer: Claimer;
  readonly #admission: Admission;
  readonly #settler: Settler;
  readonly #waiter: Waiter;
  readonly #cache: ReplayCache;
  readonly #flights: Flights = new Flights();
  /** Made once: every attempt has it. */
  readonly #saidLate = (attempt: RunningAttempt): void => this.#track(this.#settler.saidLate(attempt));
  readonly #stops: readonly { stop(): void }[];
  readonly #warned: Set<string> = new Set();
  #active = 0;
  #closing = false;
  #onIdle: (() => void) | null = null;

  constructor(options: EngineOptions) {
    const { world, callTimeMaxMs } = options;
    const { onEvent } = options;
    const emit: Emit = onEvent === null ? null : (event) => this.#tell(onEvent, event);
    this.emit = emit;
    const dispatch = createDispatch(options.store, world, options, emit);
    const renewer = createRenewer(world, dispatch, callTimeMaxMs, emit, (attempt) => this.#tellSlow(attempt));
    const saver = createSaver({
      world,
      dispatch,
      countMax: options.saveCountMax,
      bytesMax: options.saveBytesMax,
      timeMaxMs: options.saveKeepMaxMs,
      callTimeMaxMs,
    });
    const unfit = new Unfit();
    const abandoned = createAbandoned(world, dispatch, callTimeMaxMs, emit);
    const cache = createReplayCache({
      world,
      bytesMax: options.replayCacheBytesMax,
      timeMaxMs: options.replayCacheTimeMaxMs,
    });
    this.#options = options;
    this.kept = createKeptBytes(options.keptBytesMax);
    this.world = world;
    this.readVersion = options.readVersion;
    this.fingerprintSecrets = options.fingerprintSecrets;
    this.values = createValueFingerprinter(world, options.fingerprintSecrets);
    this.#cache = cache;
    this.#dispatch = dispatch;
    const { recordSizeMaxBytes } = options.store.capabilities;
    this.#ownerOptions = {
      world,
      dispatch,
      callTimeMaxMs,
      recordSizeMaxBytes,
      // It wanted to go on with what its call gave.
      contradicts: (attempt, effect, found) =>
        this.#settler.contradicts(attempt, { wanted: 'in_progress', found, reason: 'effect-late', effect }),
    };
    this.#renewer = renewer;
    this.#abandoned = abandoned;
    this.#waiter = createWaiter({
      world,
      dispatch,
      waitersMax: options.waitersMax,
      callTimeMaxMs,
      hints: options.store.hints,
    });
    this.#claimer = createClaimer({
      world,
      dispatch,
      abandoned,
      cache,
      usual: this.usual,
      unfit,
      callTimeMaxMs,
      writeVersion: options.writeVersion,
      readVersion: options.readVersion,
      isClosing: () => this.#closing,
    });
    this.#admission = createAdmission(world, this.#claimer, emit);
    this.#settler = createSettler({
      world,
      dispatch,
      renewer,
      abandoned,
      saver,
      hints: options.store.hints,
      readVersion: options.readVersion,
      flights: this.#flights,
      saveTimeMaxMs: options.saveTimeMaxMs,
      recordSizeMaxBytes: options.store.capabilities.recordSizeMaxBytes,
      emit,
      noter: createNoter({
        store: options.store,
        world,
        callTimeMaxMs,
        failed(error) {
          const applied = isStoreError(error) ? error.applied : 'unknown';
          emit?.({ type: 'store-error', verb: 'note', applied, error });
        },
      }),
      usual: this.usual,
      unfit,
      track: (work) => this.#track(work),
    });
    const stopListening = options.store.onClockOff?.((offMs) => this.#tellClockOff(offMs));
    this.#stops = [renewer, saver, abandoned, this.#waiter, { stop: () => stopListening?.() }];
  }

  /** Runs the handler if this request may run it, else says what it met. Rejects only for bugs. */
  async run(work: Work, handler: Handler): Promise<Outcome> {
    this.#options.store.refuseCaller?.();
    const startedAt = this.world.monotonicNow();
    if (work.settings.retentionMs < work.settings.retryWindowMs) this.#tellShortRetention(work);
    if (work.settings.claimTtlMs < RENEWALS_MIN * this.#ownerOptions.callTimeMaxMs)
      this.#tellShortClaim(work);
    const known = this.#closing ? null : this.#cache.get(work.id, work.fingerprint);
    if (known !== null) {
      const replay: Outcome = { kind: 'replay', ...known };
      this.#tellOutcome(replay, work, startedAt, NOTHING_RAN, true);
      return replay;
    }
    const ran: Ran = { attempt: null, accepted: false };
    this.#active += 1;
    let outcome: Outcome;
    try {
      const fresh =
        work.ifNew === null || work.ifNew === undefined ? null : await this.#ifNew(work, work.ifNew);
      outcome = fresh ?? (await this.#run(work, handler, startedAt + work.settings.waitMaxMs, ran));
    } finally {
      this.#left();
    }
    this.#tellOutcome(outcome, work, startedAt, ran, false);
    return outcome;
  }

  /**
   * What a request meets whose input is not valid (F102): a record that is there answers as always, so that a schema
   * which a deploy made stricter turns no replay into a refusal. Nothing is claimed. Rejects only for bugs.
   */
  async meetInvalid(work: Work, issues: readonly Issue[]): Promise<Outcome> {
    this.#options.store.refuseCaller?.();
    const startedAt = this.world.monotonicNow();
    const outcome = (await this.#standing(work)) ?? work.ifNew ?? { kind: 'request-invalid', issues };
    this.#tellOutcome(outcome, work, startedAt, NOTHING_RAN, false);
    return outcome;
  }

  /** What a request meets that breaks a rule for fresh keys; null: its key is known. */
  async #ifNew(work: Work, refused: Outcome): Promise<Outcome | null> {
    if (this.#closing) return unavailable('closing');
    const found = await this.#claimer.find(work);
    if ('outcome' in found) return found.outcome;
    return found.record === null ? refused : null;
  }

  /**
   * What a request meets whose body nobody will read, under any identity of its operation; null where its key is not
   * known.
   */
  async meetUnread(ids: readonly RecordId[]): Promise<Outcome | null> {
    this.#options.store.refuseCaller?.();
    const now = this.world.wallNow();
    const counts = (record: SamekeyRecord): boolean => !isForgotten(record) && !isPurgeable(record, now);
    for (const id of ids) {
      const record = await this.findKept(id);
      if (record === undefined) return unavailable('store');
      if (record !== null && counts(record)) return unavailable('too-large-now', 5_000);
    }
    return null;
  }

  /** What a record says to a request that may not run; null where a valid one would run. */
  async #standing(work: Work): Promise<Outcome | null> {
    if (this.#closing) return unavailable('closing');
    const found = await this.#claimer.find(work);
    if ('outcome' in found) return found.outcome;
    const now = this.world.wallNow();
    const { record } = found;
    if (record === null) return null;
    if (record.formatVersion > this.readVersion) return unavailable('newer-format', 5_000);
    if (isExpired(record, now)) return { kind: 'expired' };
    const other = await this.#claimer.compare(work, found);
    if (other !== null) return other;
    if (record.state === 'retryable' && record.steps === null) return null;
    // Something of it was done: what the code of today thinks of its input says nothing of that. A worker that knows
    // the steps goes on.
    if (record.state === 'retryable')
      return { kind: work.takesSteps === true ? 'in-progress' : 'unknown', retryAfterMs: retryAfter(0) };
    const seen = outcomeSeen(record, work.settings, now, this.usual.of(record.operation));
    return asAccepted(work, seen, record.input === null && record.unreadable === undefined);
  }

  /** Emits the outcome of a request that never got as far as `run`. */
  tellRefused(outcome: Outcome, operation: string, startedAt: number): void {
    this.emit?.({
      type: 'outcome',
      kind: outcome.kind,
      id: null,
      operation,
      durationMs: this.world.monotonicNow() - startedAt,
      fromCache: false,
      ...NOTHING_RAN,
      entry: 'run',
    });
  }

  #tellOutcome(
    { kind }: Outcome,
    { id, operation, entry }: Work,
    startedAt: number,
    { attempt, accepted }: Ran,
    fromCache: boolean,
  ): void {
    this.emit?.({
      type: 'outcome',
      kind,
      id,
      operation,
      durationMs: this.world.monotonicNow() - startedAt,
      fromCache,
      attempt,
      accepted,
      entry,
    });
  }

  /** Whether somebody may ask how a request stands, by the operation's limits; null: yes. */
  look(settings: OperationSettings, scope: string, operation: string): Promise<Refused | null> {
    return this.#admission.look(settings.limits, scope, operation);
  }

  /** A record as it is now, for whoever asks how a request stands; undefined when the store cannot say. */
  async find(id: RecordId): Promise<SamekeyRecord | null | undefined> {
    try {
      return await this.#dispatch.find(id, this.world.monotonicNow() + this.#options.callTimeMaxMs);
    } catch (error) {
      if (isStoreError(error)) return undefined;
      throw error;
    }
  }

  /** The same of the record that a pointer there leads to. */
  async findKept(id: RecordId): Promise<SamekeyRecord | null | undefined> {
    let record = await this.find(id);
    for (let hop = 0; hop < HOPS_MAX; hop += 1) {
      if (record === null || record === undefined || !isPointer(record)) break;
      const target = targetOf(record);
      if (target === null) return undefined;
      record = await this.find(target.id);
    }
    return record;
  }

  /** Tells of a misuse, once per code; with `operation`, once for each. */
  misuse(code: string, message: string, operation = ''): void {
    const which = `${code} ${operation}`;
    if (this.#warned.has(which)) return;
    this.#warned.add(which);
    this.world.warn(code, message);
    this.emit?.({ type: 'misuse', code, message });
  }

  /** A listener that throws, or whose promise rejects, disturbs nothing. */
  #tell(onEvent: EventListener, event: SamekeyEvent): void {
    callListener(onEvent, [event], (error) => {
      if (event.type !== 'misuse')
        this.misuse('event-listener-threw', `The event listener threw: ${textOfError(error)}`);
    });
  }

  /**
   * Takes no new claims, gives back those that no handler ran under, keeps renewing what runs for up to `drainMs`, then
   * stops. Resolves with how many were left, requests and claims; their records end as their way says.
   */
  async close(drainMs: number): Promise<number> {
    this.#closing = true;
    const deadline = this.world.monotonicNow() + drainMs;
    void this.#abandoned.giveBack(deadline);
    if (this.#active > 0 && drainMs > 0) {
      await new Promise<void>((resolve) => {
        const timer = this.world.setTimer(drainMs, resolve);
        this.#onIdle = () => {
          timer.cancel();
          resolve();
        };
      });
    }
    // Also those that were given up meanwhile (F73).
    const claimsLeft = await this.#abandoned.giveBack(deadline);
    const left = this.#active + claimsLeft;
    if (left > 0) this.emit?.({ type: 'close-left-running', count: left });
    for (const part of this.#stops) part.stop();
    await this.#admission.flush();
    return left;
  }

  #tellShortRetention({ operation, settings: { retentionMs, retryWindowMs } }: Work): void {
    const message = `Keys of "${operation}" are remembered for ${retentionMs} ms and may be retried for ${retryWindowMs} ms: a late retry runs again. Make retentionMs longer, or say in retryWindowMs when your clients give up.`;
    this.misuse('retention-short', message, operation);
  }

  #tellSlow({ operation, settings: { attemptTimeMaxMs } }: RunningAttempt): void {
    const message = `A handler of "${operation}" has run for a third of attemptTimeMaxMs (${attemptTimeMaxMs} ms) and has not answered; then its outcome is unknown. If it never answers, end its response; if it needs so long, raise attemptTimeMaxMs or defer the operation.`;
    this.misuse('handler-slow', message, operation);
  }

  #tellShortClaim({ operation, settings: { claimTtlMs } }: Work): void {
    const message = `Claims of "${operation}" last ${claimTtlMs} ms, and the store may take ${this.#ownerOptions.callTimeMaxMs} ms for one call: a slow renewal loses the claim of a living handler. Make claimTtlMs at least ${RENEWALS_MIN} times storeTimeMaxMs.`;
    this.misuse('claim-short', message, operation);
  }

  #tellClockOff(offMs: number): void {
    const by = `${Math.round(Math.abs(offMs) / 60_000)} minutes`;
    if (this.#options.store.capabilities.serverClock) {
      const message =
        offMs > 0
          ? `The clock of the store's server is ${by} ahead of what its processes have measured. If no process has run for so long, nothing is to be done; else it is wrong: mend it. Keys are judged by the processes' time until it has kept pace for ten minutes; then it is believed, and keys may be forgotten early if it is wrong.`
          : `The clock of the store's server is ${by} behind what its processes have measured: it was set back, or was ahead for ten minutes or more, and keys were forgotten early by so much. Keys are judged by the processes' time until it has caught up: run a time service on it.`;
      this.misuse('clock-off', message);
      return;
    }
    const message =
      offMs > 0
        ? `This process's clock is ${by} ahead of the newest time in the store. If nobody has used the store for so long, nothing is to be done; else this clock is wrong: run a time service. Keys are judged by the store's time until this clock has kept pace for ten minutes; then it is believed, and keys may be forgotten early if it is wrong.`
        : `This process's clock is ${by} behind the newest time in the store: it is wrong, or another process's clock was ahead for ten minutes or more, and keys were forgotten early by so much. Run a time service on every machine that uses the store.`;
    this.misuse('clock-off', message);
  }

  #tellHandlerError(attempt: RunningAttempt, error: unknown): void {
    this.emit?.({ type: 'handler-error', ...about(attempt), error });
    // Nobody may listen, and the value is lost for good: the member is named where its programmer looks first.
    if (isValueError(error))
      this.misuse('value-not-storable', `"${attempt.operation}": ${error.message}`, attempt.operation);
  }

  /** Counts work that `close` should wait for. */
  #track(work: Promise<unknown>): void {
    this.#active += 1;
    const left = (): void => this.#left();
    work.then(left, left);
  }

  #left(): void {
    this.#active -= 1;
    if (this.#active === 0) this.#onIdle?.();
  }

  async #run(work: Work, handler: Handler, waitUntil: number, ran: Ran): Promise<Outcome> {
    const text = idText(work.id);
    for (;;) {
      if (this.#closing) return unavailable('closing');
      let met: Met;
      const flight = this.#flights.get(text);
      if (flight !== undefined) {
        const joined = await this.#join(flight, work, waitUntil);
        if (joined === null) continue;
        met = joined;
      } else {
        const own = this.#flights.open(text, work.fingerprint);
        let begun: Begun;
        try {
          begun = await this.#admission.begin(work);
        } catch (error) {
          this.#flights.close(own, null);
          throw error;
        }
        if ('run' in begun) {
          this.#flights.running(own, begun.run);
          ran.attempt = begun.run.number;
          return this.#execute(begun.run, own, handler, work.entry);
        }
        met = begun;
        ran.accepted = begun.isNew === true;
        this.#flights.close(own, met);
      }
      // Only a claim of another process is waited for here; one of this process has been waited for in memory.
      if (met.claimLeftMs <= 0 || met.outcome.kind !== 'in-progress')
        return asAccepted(work, met.outcome, met.isNobodys);
      const metAt = this.world.monotonicNow();
      if (!(await this.#waiter.wait(met.foundAt ?? work.id, met.claimLeftMs, waitUntil)))
        return asAccepted(work, stillRunning(met, this.world.monotonicNow() - metAt), met.isNobodys);
    }
  }

  /** A request with this key is under way in this process; null: ask the store yourself. */
  async #join(flight: Flight, work: Work, waitUntil: number): Promise<Met | null> {
    const { label, digest } = flight.fingerprint;
    const mine = label === work.fingerprint.label ? work.fingerprint : await work.refingerprint(label);
    const same = mine?.digest === digest;
    if (flight.phase === 'claiming') {
      const news = await this.#flights.next(flight);
      if (news.kind === 'over') return same && news.met !== null ? shared(news.met) : null;
    }
    if (flight.phase === 'over') return null;
    if (mine === undefined) return metOnly(unavailable('other-label'));
    if (!same)
      return metOnly(
        differInPlaceOnly(mine.digest, digest) ? unavailable('moved', 5_000) : { kind: 'mismatch' },
      );
    if (flight.unsaved !== null) {
      const { response, attempt } = flight.unsaved;
      const expiresAt = this.world.wallNow() + work.settings.retentionMs;
      return metOnly({ kind: 'replay', response, attempt, expiresAt });
    }
    if (this.world.monotonicNow() < waitUntil) {
      const news = await this.#newsBefore(flight, waitUntil);
      if (news?.kind === 'over') return news.met === null ? null : shared(news.met);
    }
    return metOnly({
      kind: 'in-progress',
      retryAfterMs:
        flight.attempt === null ? retryAfter(0) : askAgainAfter(this.#runningHere(flight.attempt)),
    });
  }

  #runningHere({ operation, settings, startedAt, renewedAt }: RunningAttempt): Running {
    const now = this.world.monotonicNow();
    const claimLeftMs = renewedAt + settings.claimTtlMs - now;
    return { ageMs: now - startedAt, claimLeftMs, usualMs: this.usual.of(operation) };
  }

  #newsBefore(flight: Flight, deadline: number): Promise<FlightNews | undefined> {
    return new Promise((resolve) => {
      const timer = this.world.setTimer(deadline - this.world.monotonicNow(), () => resolve(undefined));
      void this.#flights.next(flight).then((news) => {
        timer.cancel();
        resolve(news);
      });
    });
  }

  async #execute(
    attempt: RunningAttempt,
    flight: Flight,
    handler: Handler,
    entry: Work['entry'],
  ): Promise<Outcome> {
    const durationMs = this.world.monotonicNow() - attempt.startedAt;
    attempt.onLost = () => this.#flights.close(flight, null);
    this.#renewer.add(attempt);
    if (this.world.probe !== undefined) await this.world.probe('claim.applied', attempt.id);
    if (this.world.probe !== undefined) await this.world.probe('handler.before', attempt.id);
    const { renewedAt, settings } = attempt;
    if (attempt.lost || this.world.monotonicNow() - renewedAt >= settings.claimTtlMs) {
      // This process stood still since it asked: by now the attempt may be somebody else's. Nothing ran, so it is given
      // back.
      await this.#claimer.handBack(attempt, 'claim-over');
      this.#renewer.remove(attempt);
      this.#flights.close(flight, null);
      return unavailable('store');
    }
    this.emit?.({
      type: 'claimed',
      ...about(attempt),
      resumed: attempt.resumed,
      entry: entry === 'take' ? 'take' : 'run',
      durationMs,
    });
    const ending = await this.#runHandler(attempt, flight, handler);
    if (ending === 'time-up') return this.#settler.timeUp(attempt, flight);
    if (this.world.probe !== undefined) await this.world.probe('handler.after', attempt.id);
    return this.#settle(attempt, flight, ending);
  }

  /** Records its end, and heeds what it still says afterwards. */
  async #settle(attempt: RunningAttempt, flight: Flight, ending: Ending): Promise<Outcome> {
    const isSaid = attempt.saidUnknown !== null;
    const outcome = await this.#settler.settle(attempt, flight, ending);
    if (isSaid) return outcome;
    if (attempt.saidUnknown === null) attempt.onSaidLate = this.#saidLate;
    else this.#saidLate(attempt);
    return outcome;
  }

  /** Runs the handler until it ends or its time is up, whichever is first. */
  #runHandler(attempt: RunningAttempt, flight: Flight, handler: Handler): Promise<Ending | 'time-up'> {
    return new Promise((resolve) => {
      const startedAt = this.world.monotonicNow();
      let decidedBy: 'nobody' | 'handler' | 'time' | 'head' = 'nobody';
      attempt.onTimeUp = () => {
        const soFar = attempt.hasSpoken ? null : (handler.endingSoFar?.() ?? null);
        decidedBy = soFar === null ? 'time' : 'head';
        resolve(soFar ?? 'time-up');
      };
      const ended = (ending: Ending): void => {
        attempt.onTimeUp = null;
        if (ending.kind === 'threw') attempt.hear(ending.error);
        this.emit?.({
          type: 'handler-ended',
          ...about(attempt),
          ending: ending.kind,
          durationMs: this.world.monotonicNow() - startedAt,
        });
        if ('error' in ending && ending.error !== undefined) this.#tellHandlerError(attempt, ending.error);
        // Its time was up, but an answer beats an absence; the store decides whether it still counts.
        if (decidedBy === 'time') this.#track(this.#settle(attempt, flight, ending));
        if (decidedBy === 'nobody') decidedBy = 'handler';
        resolve(ending);
      };
      handler.onLate?.((ending) => this.#track(this.#settler.settle(attempt, flight, ending)));
      const owner = createOwner(attempt, this.#ownerOptions);
      handler
        .start(attempt, owner)
        .then(ended, (error: unknown) => ended({ kind: 'threw', error, response: null }));
    });
  }
}

/** What a request was given: the number of its attempt, null for none; or that it was noted for a worker. */
interface Ran {
  attempt: number | null;
  accepted: boolean;
}

const NOTHING_RAN: Readonly<Ran> = { attempt: null, accepted: false };

/** The same attempt, met in vain for so long. */
function stillRunning({ outcome, running }: Met, waitedMs: number): Outcome {
  if (outcome.kind !== 'in-progress' || running === undefined || waitedMs === 0) return outcome;
  const { ageMs, claimLeftMs, usualMs } = running;
  const now = { ageMs: ageMs + waitedMs, claimLeftMs: claimLeftMs - waitedMs, usualMs };
  return { kind: 'in-progress', retryAfterMs: askAgainAfter(now) };
}

/**
 * Who left its work to a worker is told that the worker has it, also while it runs. What was begun without one, by code
 * that runs it at once, is nothing that a worker has: it is asked for again (F114).
 */
function asAccepted({ entry }: Work, outcome: Outcome, isNobodys = false): Outcome {
  if (entry !== 'accept' || outcome.kind !== 'in-progress' || isNobodys) return outcome;
  return { kind: 'pending', retryAfterMs: outcome.retryAfterMs };
}
