/**
 * Time for stores whose database tells none (contract §3.5): what all processes have seen of it (the shared time, kept
 * in the store), carried on by this process's monotonic clock. A wall clock may be hours ahead for a moment, or in one
 * process: it must end, run and forget nothing (F71).
 *
 * Two times, never mixed:
 * - `now`, by which everything is judged (expired, reaped, due) and most is written: the shared time and what this
 *   process measured since it last saw it. A wall clock that is ahead of it is believed once this process has seen it
 *   keep pace with its monotonic clock for ten minutes. After days of silence records so live ten minutes longer, never
 *   shorter.
 * - `laterNow`, from which lives are counted (`expiresAt`): the later of that and the wall clock. So a process whose
 *   clock is right writes no record that ends too early because the shared time lags behind, and one whose clock is
 *   behind writes none that is born expired.
 */

import { createOffTelling, createPace } from './clock-pace.ts';

/** The two times, in whole milliseconds since 1970. */
export interface SharedTimes {
  readonly now: number;
  readonly laterNow: number;
}

/** Time as one process knows it. */
export interface SharedTime {
  /**
   * `shared`: the newest time that any process has left in the store; 0 while none has, and then the wall clock is as
   * good as any.
   */
  times(shared: number): SharedTimes;
  /**
   * Tells by how much this process's wall clock is ahead (or, below 0, behind), each time it begins to be off by ten
   * minutes or more, and at once if it is. Returns what ends it.
   */
  onOff(told: (offMs: number) => void): () => void;
}

/** Makes it on a wall clock (milliseconds since 1970) and a monotonic one. */
export function createSharedTime(wallNow: () => number, monotonicNow: () => number): SharedTime {
  const pace = createPace();
  const off = createOffTelling();
  let base: { readonly time: number; readonly at: number } | undefined;

  return {
    times(shared) {
      const wall = Math.floor(wallNow());
      // Nothing is written yet that could end. Not remembered: somebody else's first word may be another.
      if (shared === 0) return { now: wall, laterNow: wall };
      const at = monotonicNow();
      const carried = base === undefined ? shared : base.time + at - base.at;
      if (base === undefined || shared > carried) base = { time: shared, at };
      let now = Math.max(shared, Math.floor(carried));
      off.tell(wall - now);
      if (wall <= now) pace.end();
      else if (pace.isBelieved(wall, at)) {
        base = { time: wall, at };
        pace.end();
        off.end();
        now = wall;
      }
      return { now, laterNow: Math.max(now, wall) };
    },
    onOff: (told) => off.onOff(told),
  };
}
