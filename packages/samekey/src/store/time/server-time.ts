/**
 * Time for stores whose database tells it (contract §3.5). A server's clock may be hours ahead for a moment: it must
 * end, run and forget nothing (F117), as little as a process's clock where there is none (`shared-time.ts`, F71).
 *
 * What a process believes the time to be is its base, carried on by its monotonic clock. It goes with each statement as
 * a bound, so no statement asks for it: the server's clock is the time where it is within {@link SERVER_TOLERANCE_MS}
 * of the bound, else the bound is. The base comes from looks alone, each at the server's clock and at the shared time,
 * which the store keeps in one row:
 * - the first takes the clock, unless it is more than {@link ROW_LAG_MAX_MS} off the shared time: then that is the
 *   time;
 * - later ones follow the clock while it is near. One that is ahead is believed after it has kept pace for ten minutes;
 *   one that is behind never: what was written would stand for as long;
 * - a shared time that is ahead is taken at once: others have believed the clock, or this process was frozen.
 *
 * Whoever looks moves the shared time on: who starts and who sweeps, never who claims. A leap of the time is known to
 * others only when they look, and until then they write as before it. So for ten minutes after one, claims and leases
 * must be over by the time before it as well.
 */

import { createOffTelling, createPace, PACE_MS, PACE_TOLERANCE_MS } from './clock-pace.ts';

/** The store's own part of a look. */
export interface ServerClock {
  /**
   * The server's clock and the shared time, of one moment, in whole milliseconds since 1970; 0: nobody has left one
   * yet.
   */
  read(): Promise<{ readonly clock: number; readonly shared: number }>;
  /** Moves the shared time on to this, never back. */
  move(time: number): Promise<void>;
}

/** Time as one process knows it. */
export interface ServerTime {
  /** What the time is believed to be right now, in whole milliseconds since 1970; undefined before the first look. */
  bound(): number | undefined;
  /** By how much claims and leases are held back after a leap, in milliseconds; mostly 0. */
  heldMs(): number;
  /** Looks. */
  look(): Promise<void>;
  /**
   * Before a statement that needs the bound: looks where that was never done, or long ago, or time has passed that
   * nobody measured.
   */
  fresh(): Promise<void> | undefined;
  /** Tells that the server's clock is off, as `Store.onClockOff` does. */
  onOff(told: (offMs: number) => void): () => void;
}

/** A clock so near is the time: a statement takes less from here to there, and time services move clocks by less. */
export const SERVER_TOLERANCE_MS: number = PACE_TOLERANCE_MS;
/**
 * Who starts takes the clock for right although it is ahead of the shared time, up to this: sweeps move that every ten
 * seconds.
 */
const ROW_LAG_MAX_MS = 60_000;
/** A shared time that lags less is not worth a write. */
const MOVE_MS = 5_000;
/** So long after the last look a statement waits for one; sweeps look more often. Less than {@link ROW_LAG_MAX_MS}. */
const LOOK_BEFORE_MS = 30_000;

/** Makes it on this process's clocks; the wall clock only shows that the monotonic one stood still. */
export function createServerTime(
  server: ServerClock,
  monotonicNow: () => number,
  wallNow: () => number,
): ServerTime {
  const pace = createPace();
  const off = createOffTelling();
  let base: { readonly time: number; readonly at: number } | undefined;
  let lookedAt: { readonly monotonic: number; readonly wall: number } | undefined;
  let looking: Promise<void> | undefined;
  let held = { ms: 0, until: Number.NEGATIVE_INFINITY };

  function carried(at: number): number | undefined {
    return base && base.time + at - base.at;
  }

  function heldMs(at: number): number {
    return at < held.until ? held.ms : 0;
  }

  function leapTo(time: number, at: number): void {
    held = { ms: heldMs(at) + Math.max(0, time - (carried(at) ?? time)), until: at + PACE_MS };
    base = { time, at };
  }

  function learn(clock: number, shared: number, at: number): void {
    const before = carried(at);
    if (before === undefined) base = { time: isLagging(shared, clock) ? clock : shared, at };
    else if (shared - before > SERVER_TOLERANCE_MS) leapTo(isLagging(shared, clock) ? clock : shared, at);
    const offMs = clock - (carried(at) ?? clock);
    off.tell(offMs);
    if (offMs > SERVER_TOLERANCE_MS) {
      if (!pace.isBelieved(clock, at)) return;
      leapTo(clock, at);
      off.end();
    } else if (offMs >= -SERVER_TOLERANCE_MS) base = { time: clock, at };
    pace.end();
  }

  async function lookOnce(): Promise<void> {
    const wall = wallNow();
    const monotonic = monotonicNow();
    const { clock, shared } = await server.read();
    // At one moment, after the answer: taken from before, the length of the call would be added with every look.
    learn(clock, shared, monotonicNow());
    const time = bound() ?? clock;
    // What was learned holds all the same: the next look moves it.
    if (shared === 0 || time - shared >= MOVE_MS) await server.move(time).catch(() => undefined);
    lookedAt = { monotonic, wall };
  }

  function look(): Promise<void> {
    looking ??= lookOnce().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  function bound(): number | undefined {
    const time = carried(monotonicNow());
    return time === undefined ? undefined : Math.floor(time);
  }

  return {
    bound,
    heldMs: () => heldMs(monotonicNow()),
    look,
    fresh() {
      if (lookedAt === undefined) return look();
      const passedMs = monotonicNow() - lookedAt.monotonic;
      const stoodStillMs = Math.abs(wallNow() - lookedAt.wall - passedMs);
      return passedMs >= LOOK_BEFORE_MS || stoodStillMs > SERVER_TOLERANCE_MS ? look() : undefined;
    },
    onOff: (told) => off.onOff(told),
  };
}

/** Whether the shared time is only what others last wrote of a clock that is right. */
function isLagging(shared: number, clock: number): boolean {
  return shared === 0 || (clock >= shared && clock - shared <= ROW_LAG_MAX_MS);
}
