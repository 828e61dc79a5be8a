/**
 * Time for stores whose database tells none (semantics §3): what all processes have seen of it (the shared time, kept in the store), carried on by
 * this process's monotonic clock. A wall clock may be hours ahead for a moment, or in one process: it must end, run and forget nothing (F71).
 *
 * Two times, never mixed:
 * - `now`, by which everything is judged (expired, reaped, due) and most is written: the shared time and what this process measured since it
 *   last saw it. A wall clock that is ahead of it is believed once this process has seen it keep pace with its monotonic clock for ten
 *   minutes. After days of silence records so live ten minutes longer, never shorter.
 * - `laterNow`, from which lives are counted (`expiresAt`): the later of that and the wall clock. So a process whose clock is right writes no
 *   record that ends too early because the shared time lags behind, and one whose clock is behind writes none that is born expired.
 */

/** The two times, in whole milliseconds since 1970. */
export interface SharedTimes {
  readonly now: number;
  readonly laterNow: number;
}

/** Time as one process knows it. */
export interface SharedTime {
  /** `shared`: the newest time that any process has left in the store; 0 while none has, and then the wall clock is as good as any. */
  times(shared: number): SharedTimes;
  /**
   * Tells by how much this process's wall clock is ahead (or, below 0, behind), each time it begins to be off by ten minutes or more, and at
   * once if it is. Returns what ends it.
   */
  onOff(told: (offMs: number) => void): () => void;
}

/** For so long a wall clock must keep pace before it is believed; and from here on it counts as off. */
export const PACE_MS = 600_000;
/** Time services move clocks by less in ten minutes (500 parts in a million are 0.3 s), a step to another time is more. */
const PACE_TOLERANCE_MS = 2_000;

/** Makes it on a wall clock (milliseconds since 1970) and a monotonic one. */
export function createSharedTime(wallNow: () => number, monotonicNow: () => number): SharedTime {
  const listeners = new Set<(offMs: number) => void>();
  let base: { readonly time: number; readonly at: number } | undefined;
  /** Since when the wall clock has been ahead and kept pace. */
  let ahead: { readonly wall: number; readonly at: number } | undefined;
  let lastOffMs = 0;

  /** Whether the wall clock, which is ahead, may be believed by now. */
  function isBelieved(wall: number, at: number): boolean {
    const keptPace =
      ahead !== undefined && Math.abs(wall - ahead.wall - (at - ahead.at)) <= PACE_TOLERANCE_MS;
    if (!keptPace) ahead = { wall, at };
    return ahead !== undefined && at - ahead.at >= PACE_MS;
  }

  function tell(offMs: number): void {
    const wasOff = isOff(lastOffMs);
    lastOffMs = offMs;
    if (isOff(offMs) && !wasOff) for (const told of listeners) told(offMs);
  }

  return {
    times(shared) {
      const wall = Math.floor(wallNow());
      // Nothing is written yet that could end. Not remembered: somebody else's first word may be another.
      if (shared === 0) return { now: wall, laterNow: wall };
      const at = monotonicNow();
      const carried = base === undefined ? shared : base.time + at - base.at;
      if (base === undefined || shared > carried) base = { time: shared, at };
      let now = Math.max(shared, Math.floor(carried));
      tell(wall - now);
      if (wall <= now) ahead = undefined;
      else if (isBelieved(wall, at)) {
        base = { time: wall, at };
        ahead = undefined;
        lastOffMs = 0;
        now = wall;
      }
      return { now, laterNow: Math.max(now, wall) };
    },
    onOff(told) {
      listeners.add(told);
      if (isOff(lastOffMs)) told(lastOffMs);
      return () => void listeners.delete(told);
    },
  };
}

function isOff(offMs: number): boolean {
  return Math.abs(offMs) >= PACE_MS;
}
