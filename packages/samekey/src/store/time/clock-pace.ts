/**
 * When a clock that is ahead of what processes have seen is believed (F71, F117): after it has kept pace with a
 * monotonic clock for ten minutes. And who is told that it is off.
 */

/** For so long a clock must keep pace before it is believed; and from here on it counts as off. */
export const PACE_MS = 600_000;
/**
 * Time services move clocks by less in ten minutes (500 parts in a million are 0.3 s), a step to another time is more.
 */
export const PACE_TOLERANCE_MS = 2_000;

/** Watches one clock. */
interface Pace {
  /** The clock, which is ahead, says `wall` at `at` of the monotonic clock: whether it may be believed by now. */
  isBelieved(wall: number, at: number): boolean;
  /** It is not ahead, or was believed: the next time it is watched anew. */
  end(): void;
}

/** Makes it. */
export function createPace(): Pace {
  /** Since when the clock has been ahead and kept pace. */
  let ahead: { readonly wall: number; readonly at: number } | undefined;
  return {
    isBelieved(wall, at) {
      const keptPace =
        ahead !== undefined && Math.abs(wall - ahead.wall - (at - ahead.at)) <= PACE_TOLERANCE_MS;
      if (!keptPace) ahead = { wall, at };
      return ahead !== undefined && at - ahead.at >= PACE_MS;
    },
    end() {
      ahead = undefined;
    },
  };
}

/** Tells that a clock is off. */
interface OffTelling {
  tell(offMs: number): void;
  /** It was believed: what it says is the time. */
  end(): void;
  /**
   * Tells each time it begins to be off by ten minutes or more, ahead or (below 0) behind, and at once if it is.
   * Returns what ends it.
   */
  onOff(told: (offMs: number) => void): () => void;
}

/** Makes it. */
export function createOffTelling(): OffTelling {
  const listeners = new Set<(offMs: number) => void>();
  let lastOffMs = 0;
  return {
    tell(offMs) {
      const before = wayOff(lastOffMs);
      lastOffMs = offMs;
      if (wayOff(offMs) !== 0 && wayOff(offMs) !== before) for (const told of listeners) told(offMs);
    },
    end() {
      lastOffMs = 0;
    },
    onOff(told) {
      listeners.add(told);
      if (wayOff(lastOffMs) !== 0) told(lastOffMs);
      return () => void listeners.delete(told);
    },
  };
}

/** 1: ahead; -1: behind; 0: neither by enough. */
function wayOff(offMs: number): number {
  return Math.abs(offMs) >= PACE_MS ? Math.sign(offMs) : 0;
}
