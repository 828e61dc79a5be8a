/**
 * How fast requests go out: so many a second on average, and a burst, because a race is requests at once.
 *
 * Invariant: in any span of time at most `burst + rate × span` requests.
 */

/** Waits for turns. */
export interface Pace {
  /** Resolves when so many requests may go out at once. */
  turn(count: number): Promise<void>;
}

/** Makes one: a token bucket. `rateMax` is a number of requests per second. */
export function createPace(rateMax: number, burst: number): Pace {
  let tokens = burst;
  let at = performance.now();
  const turn = async (count: number): Promise<void> => {
    const wanted = Math.min(count, burst);
    for (;;) {
      const now = performance.now();
      tokens = Math.min(burst, tokens + ((now - at) / 1000) * rateMax);
      at = now;
      if (tokens >= wanted) {
        tokens -= count;
        return;
      }
      await pause(((wanted - tokens) / rateMax) * 1000);
    }
  };
  return { turn };
}

/** Waits. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, Math.max(1, ms));
  });
}
