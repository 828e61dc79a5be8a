/**
 * What an engine tells beside its answers: events to a listener, and misuse to those who look at the process.
 *
 * Invariants: a listener that throws, or whose promise rejects, disturbs nothing · without a listener no event is
 * made · a misuse is told once for each code, or once for each operation.
 */

import type { RunningAttempt } from './attempt.ts';
import { isValueError } from '../core/errors.ts';
import type { Emit, EventListener, SamekeyEvent } from './events.ts';
import { callListener, textOfError } from '../core/listener.ts';
import type { Outcome } from '../core/outcome.ts';
import { about } from './renewer.ts';
import type { Work } from './work.ts';
import type { World } from '../core/world.ts';

/** What a request was given: the number of its attempt, null for none; or that it was noted for a worker. */
export interface Ran {
  attempt: number | null;
  accepted: boolean;
}

export const NOTHING_RAN: Readonly<Ran> = { attempt: null, accepted: false };

/** What it tells by. */
interface TellingOptions {
  readonly world: World;
  readonly onEvent: EventListener | null;
  readonly callTimeMaxMs: number;
  /** Whether the store goes by the clock of its server. */
  readonly serverClock: boolean;
}

/** A claim is renewed at a third of it: one call may fail to answer, and the next still comes in time. */
const RENEWALS_MIN = 3;

/** The telling of one engine. */
export class Telling {
  /** Sends an event; null when nobody listens. */
  readonly emit: Emit;
  readonly #options: TellingOptions;
  readonly #warned: Set<string> = new Set();

  constructor(options: TellingOptions) {
    const { onEvent } = options;
    this.#options = options;
    this.emit = onEvent === null ? null : (event) => this.#send(onEvent, event);
  }

  #send(onEvent: EventListener, event: SamekeyEvent): void {
    callListener(onEvent, [event], (error) => {
      if (event.type !== 'misuse')
        this.misuse('event-listener-threw', `The event listener threw: ${textOfError(error)}`);
    });
  }

  /** Tells of a misuse, once per code; with `operation`, once for each. */
  misuse(code: string, message: string, operation = ''): void {
    const which = `${code} ${operation}`;
    if (this.#warned.has(which)) return;
    this.#warned.add(which);
    this.#options.world.warn(code, message);
    this.emit?.({ type: 'misuse', code, message });
  }

  /** What a request was told. */
  outcome(
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
      durationMs: this.#options.world.monotonicNow() - startedAt,
      fromCache,
      attempt,
      accepted,
      entry,
    });
  }

  /** The outcome of a request that never got as far as the engine. */
  refused({ kind }: Outcome, operation: string, startedAt: number): void {
    this.emit?.({
      type: 'outcome',
      kind,
      id: null,
      operation,
      durationMs: this.#options.world.monotonicNow() - startedAt,
      fromCache: false,
      ...NOTHING_RAN,
      entry: 'run',
    });
  }

  /** Warns of times that are too short for what they are for. */
  shortTimes({ operation, settings: { retentionMs, retryWindowMs, claimTtlMs } }: Work): void {
    if (retentionMs < retryWindowMs) {
      const message = `Keys of "${operation}" are remembered for ${retentionMs} ms and may be retried for ${retryWindowMs} ms: a late retry runs again. Make retentionMs longer, or say in retryWindowMs when your clients give up.`;
      this.misuse('retention-short', message, operation);
    }
    const { callTimeMaxMs } = this.#options;
    if (claimTtlMs < RENEWALS_MIN * callTimeMaxMs) {
      const message = `Claims of "${operation}" last ${claimTtlMs} ms, and the store may take ${callTimeMaxMs} ms for one call: a slow renewal loses the claim of a living handler. Make claimTtlMs at least ${RENEWALS_MIN} times storeTimeMaxMs.`;
      this.misuse('claim-short', message, operation);
    }
  }

  /** A handler has not answered for long. */
  slow({ operation, settings: { attemptTimeMaxMs } }: RunningAttempt): void {
    const message = `A handler of "${operation}" has run for a third of attemptTimeMaxMs (${attemptTimeMaxMs} ms) and has not answered; then its outcome is unknown. If it never answers, end its response; if it needs so long, raise attemptTimeMaxMs or defer the operation.`;
    this.misuse('handler-slow', message, operation);
  }

  /** The clock that keys are judged by is not where the processes have measured it. */
  clockOff(offMs: number): void {
    const by = `${Math.round(Math.abs(offMs) / 60_000)} minutes`;
    if (this.#options.serverClock) {
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

  /** A handler threw, or its answer could not be kept. */
  handlerError(attempt: RunningAttempt, error: unknown): void {
    this.emit?.({ type: 'handler-error', ...about(attempt), error });
    // Nobody may listen, and the value is lost for good: the member is named where its programmer looks first.
    if (isValueError(error))
      this.misuse('value-not-storable', `"${attempt.operation}": ${error.message}`, attempt.operation);
  }
}
