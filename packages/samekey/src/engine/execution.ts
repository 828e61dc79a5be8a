/**
 * Runs a handler under the claim that was granted for it, until it ends or its time is up.
 *
 * Invariants: it starts only under a claim that has not run out by this process's clock, and at most once per claim ·
 * what it still says after its time was up is heard and heeded.
 */

import type { Ending, RunningAttempt } from './attempt.ts';
import type { Claimer } from './claimer.ts';
import type { Flight, Flights } from './flight.ts';
import { unavailable } from './meeting.ts';
import type { Outcome } from '../core/outcome.ts';
import { createOwner, type OwnerOptions } from './owner.ts';
import { about, type Renewer } from './renewer.ts';
import type { Settler } from './ending/settler.ts';
import type { Telling } from './telling.ts';
import type { UnderWay } from './work-count.ts';
import type { Handler, Work } from './work.ts';
import type { World } from '../core/world.ts';

/** Runs it; resolves with what its request is told. */
export type Execute = (
  attempt: RunningAttempt,
  flight: Flight,
  handler: Handler,
  entry: Work['entry'],
) => Promise<Outcome>;

/** What it needs. */
interface ExecuteOptions {
  readonly world: World;
  readonly telling: Telling;
  readonly flights: Flights;
  readonly underWay: UnderWay;
  readonly renewer: Renewer;
  readonly claimer: Pick<Claimer, 'handBack'>;
  readonly settler: Settler;
  readonly ownerOptions: OwnerOptions;
}

/** Makes the execution of one engine. */
export function createExecute(options: ExecuteOptions): Execute {
  const { world, telling, flights, underWay, renewer, settler } = options;
  const { emit } = telling;
  /** Made once: every attempt has it. */
  const saidLate = (attempt: RunningAttempt): void => underWay.track(settler.saidLate(attempt));

  /** Records its end, and heeds what it still says afterwards. */
  async function settle(attempt: RunningAttempt, flight: Flight, ending: Ending): Promise<Outcome> {
    const isSaid = attempt.saidUnknown !== null;
    const outcome = await settler.settle(attempt, flight, ending);
    if (isSaid) return outcome;
    if (attempt.saidUnknown === null) attempt.onSaidLate = saidLate;
    else saidLate(attempt);
    return outcome;
  }

  /** Runs the handler until it ends or its time is up, whichever is first. */
  function runHandler(
    attempt: RunningAttempt,
    flight: Flight,
    handler: Handler,
  ): Promise<Ending | 'time-up'> {
    return new Promise((resolve) => {
      const startedAt = world.monotonicNow();
      let decidedBy: 'nobody' | 'handler' | 'time' | 'head' = 'nobody';
      attempt.onTimeUp = () => {
        const soFar = attempt.hasSpoken ? null : (handler.endingSoFar?.() ?? null);
        decidedBy = soFar === null ? 'time' : 'head';
        if (soFar === null) underWay.track(untilEnded(world, running, attempt.settings.attemptTimeMaxMs));
        resolve(soFar ?? 'time-up');
      };
      const ended = (ending: Ending): void => {
        attempt.onTimeUp = null;
        if (ending.kind === 'threw') attempt.hear(ending.error);
        emit?.({
          type: 'handler-ended',
          ...about(attempt),
          ending: ending.kind,
          durationMs: world.monotonicNow() - startedAt,
        });
        if ('error' in ending && ending.error !== undefined) telling.handlerError(attempt, ending.error);
        // Its time was up, but an answer beats an absence; the store decides whether it still counts.
        if (decidedBy === 'time') underWay.track(settle(attempt, flight, ending));
        if (decidedBy === 'nobody') decidedBy = 'handler';
        resolve(ending);
      };
      handler.onLate?.((ending) => underWay.track(settler.settle(attempt, flight, ending)));
      const owner = createOwner(attempt, options.ownerOptions);
      const running = handler
        .start(attempt, owner)
        .then(ended, (error: unknown) => ended({ kind: 'threw', error, response: null }));
    });
  }

  return async (attempt, flight, handler, entry) => {
    const durationMs = world.monotonicNow() - attempt.startedAt;
    attempt.onLost = () => flights.close(flight, null);
    renewer.add(attempt);
    if (world.probe !== undefined) await world.probe('claim.applied', attempt.id);
    if (world.probe !== undefined) await world.probe('handler.before', attempt.id);
    const { renewedAt, settings } = attempt;
    if (attempt.lost || world.monotonicNow() - renewedAt >= settings.claimTtlMs) {
      // This process stood still since it asked: by now the attempt may be somebody else's. Nothing ran, so it is given
      // back.
      if (attempt.unrecorded !== null) handler.reserving?.release();
      else await options.claimer.handBack(attempt, 'claim-over');
      renewer.remove(attempt);
      flights.close(flight, null);
      return unavailable('store');
    }
    emit?.({
      type: 'claimed',
      ...about(attempt),
      resumed: attempt.resumed,
      entry: entry === 'take' ? 'take' : 'run',
      durationMs,
    });
    const ending = await runHandler(attempt, flight, handler);
    if (ending === 'time-up') return settler.timeUp(attempt, flight);
    if (world.probe !== undefined) await world.probe('handler.after', attempt.id);
    return settle(attempt, flight, ending);
  };
}

/**
 * What a handler does after its time is over counts: its answer beats an absence, and only this process has it. So it
 * is waited for, for as long again: by then it is taken to hang.
 */
function untilEnded(world: World, running: Promise<void>, timeMaxMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = world.setTimer(timeMaxMs, resolve);
    void running.finally(() => {
      timer.cancel();
      resolve();
    });
  });
}
