/**
 * Whether a request may begin something new (contract §4, row 13). Limits count fresh keys only: a key that is known
 * goes on, however much its caller is over a limit.
 *
 * Invariants: over a limit an unknown key writes nothing · a known key is never answered 429 · what was taken for a key
 * that turned out to be known is given back · a limiter that fails or hangs holds nobody beyond `decisionTimeMaxMs`.
 */

import type { RunningAttempt } from './attempt.ts';
import type { Claimer, Begun } from './claimer.ts';
import type { Emit } from './events.ts';
import type { Met } from './flight.ts';
import type { Limits, Room } from '../core/limits.ts';
import { metOnly, unavailable } from './meeting.ts';
import { type Outcome, retryAfter } from '../core/outcome.ts';
import { callerOf } from '../core/scope.ts';
import type { Reserver } from './reserver.ts';
import type { Reserving, Work } from './work.ts';
import type { World } from '../core/world.ts';

/** What a limit, or a limiter that failed, answers. */
export type Refused = Extract<Outcome, { readonly kind: 'limited' | 'unavailable' }>;

/** What lets requests in. */
export interface Admission {
  /** As {@link Reserver.begin}, within the limits of the work. */
  begin(work: Work, reserving: Reserving | null): Promise<Begun>;
  /** Whether somebody may look at how a request stands; null: yes. */
  look(limits: Limits | null, scope: string, operation: string): Promise<Refused | null>;
  /** Writes down what limits have counted here, within their time; never rejects. */
  flush(): Promise<void>;
}

/** The reason of an attempt that was given back because its key was new after all, and over a limit. */
const LIMITED = 'limited';

/** Limits could not tell; `error` is what their library said. */
interface Undecided {
  readonly error: unknown;
}

/** Makes the admission of one engine. */
export function createAdmission(world: World, claimer: Claimer, reserver: Reserver, emit: Emit): Admission {
  const asked = new Map<Limits, string>();

  async function begin(work: Work, reserving: Reserving | null): Promise<Begun> {
    const { limits } = work.settings;
    if (limits?.flush !== undefined && asked.size < LIMITS_MAX) asked.set(limits, work.operation);
    // A worker takes what was let in before.
    if (limits === null || work.entry === 'take')
      return reserving === null ? claimer.begin(work) : reserver.begin(work, reserving);
    const asker = { caller: callerOf(work.id.scope), operation: work.operation };
    const room = await bounded(world, limits.decisionTimeMaxMs, limits.takeNewKey(asker));
    if ('error' in room) {
      emit?.({ type: 'limiter-failed', operation: work.operation, error: room.error });
      if (limits.whenLimiterFails === 'open')
        return reserving === null ? claimer.begin(work) : reserver.begin(work, reserving);
      return (
        (await unlessKnown(work, unavailable('limiter'), reserving)) ??
        (reserving === null ? claimer.begin(work) : reserver.begin(work, reserving))
      );
    }
    if (room.fullForMs === null) return beginIn(room, work, reserving);
    const limited = { kind: 'limited', retryAfterMs: retryAfter(room.fullForMs) } as const;
    const met = await unlessKnown(work, limited, reserving);
    if (met !== null) return met;
    const begun = await beginIn(room, work, reserving);
    // Known when it was looked up and gone when it was claimed (expired, reaped): it began as new, which is over the
    // limit.
    if (!('run' in begun) || !isNew(begun.run)) return begun;
    if (begun.run.unrecorded === null) await claimer.handBack(begun.run, LIMITED);
    else reserving?.release();
    return metOnly(limited);
  }

  async function beginIn(room: Room, work: Work, reserving: Reserving | null): Promise<Begun> {
    let used = false;
    try {
      const begun = await (reserving === null ? claimer.begin(work) : reserver.begin(work, reserving));
      used = 'run' in begun ? isNew(begun.run) : begun.isNew === true;
      return begun;
    } finally {
      room.end(used);
    }
  }

  /** Null for a key that has a record; the store's silence is answered before any limit. */
  async function unlessKnown(work: Work, outcome: Outcome, reserving: Reserving | null): Promise<Met | null> {
    // The lock first: what ends in between has left a record.
    const isRunning = reserving !== null && (await reserver.isRunning(work));
    if (isRunning === 'unclear') return metOnly(unavailable('store'));
    const known = await claimer.find(work);
    if ('outcome' in known) return known;
    if (isRunning) return null;
    const counts = known.records.some(({ state, reason }) => state !== 'retryable' || reason !== LIMITED);
    return counts ? null : metOnly(outcome);
  }

  async function flush(limits: Limits, operation: string): Promise<void> {
    try {
      await inTime(world, limits.flush?.());
    } catch (error) {
      emit?.({ type: 'limiter-failed', operation, error });
    }
  }

  return {
    begin,
    async flush() {
      await Promise.all(Array.from(asked, ([limits, operation]) => flush(limits, operation)));
    },
    async look(limits, scope, operation) {
      if (limits === null) return null;
      const asker = { caller: callerOf(scope), operation };
      const room = await bounded(world, limits.decisionTimeMaxMs, limits.takeLook(asker));
      if ('error' in room) {
        emit?.({ type: 'limiter-failed', operation, error: room.error });
        if (limits.whenLimiterFails === 'open') return null;
        return { kind: 'unavailable', because: 'limiter', retryAfterMs: retryAfter(0) };
      }
      room.end(true);
      return room.fullForMs === null ? null : { kind: 'limited', retryAfterMs: retryAfter(room.fullForMs) };
    },
  };
}

/** More limits than any application has. */
const LIMITS_MAX = 1_000;
/** A process that ends waits no longer for its counts to be written. */
const FLUSH_TIME_MAX_MS = 2_000;

function inTime(world: World, flushed: Promise<void> | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = world.setTimer(FLUSH_TIME_MAX_MS, () =>
      reject(new Error(`Counts were not written within ${FLUSH_TIME_MAX_MS} ms.`)),
    );
    Promise.resolve(flushed)
      .finally(() => timer.cancel())
      .then(resolve, reject);
  });
}

/** Whether nothing has begun under its key, as far as limits go. */
function isNew({ resumed }: RunningAttempt): boolean {
  return resumed === null || resumed.reason === LIMITED;
}

function bounded(world: World, timeMaxMs: number, asked: Promise<Room>): Promise<Room | Undecided> {
  return new Promise((resolve) => {
    let late = false;
    const timer = world.setTimer(timeMaxMs, () => {
      late = true;
      resolve({ error: new Error(`The limiter took longer than ${timeMaxMs} ms.`) });
    });
    asked.then(
      (room) => {
        timer.cancel();
        // Nobody waits for it any more, and nobody else would give it back.
        if (late) room.end(false);
        else resolve(room);
      },
      (error: unknown) => {
        timer.cancel();
        resolve({ error });
      },
    );
  });
}
