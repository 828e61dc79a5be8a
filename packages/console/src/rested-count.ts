/**
 * What counts a whole table is done one at a time, seldom, and for at most a twentieth of the time. What was counted is
 * told with when.
 */

/** A count and when it was made. */
interface Counted<Count> {
  readonly count: Count;
  readonly at: number;
}

/** Gives what was counted last; null: nothing was, yet. */
type RestedCount<Count> = () => Promise<Counted<Count> | null>;

/** Counting rests for so many times its own length. */
const REST = 20;

/**
 * Makes it. It counts anew at most every `everyMs`. Whoever asks waits for `waitMs` at most; what takes longer is told
 * to whoever asks later.
 */
export function restedCount<Count>(
  count: () => Promise<Count>,
  {
    everyMs,
    waitMs,
    told,
  }: {
    readonly everyMs: number;
    readonly waitMs: number;
    /** Hears of an error, once until it counts again. */
    readonly told: (error: unknown) => void;
  },
): RestedCount<Count> {
  let last: Counted<Count> | null = null;
  let running: Promise<void> | null = null;
  let nextAt = 0;
  let isTold = false;

  async function run(): Promise<void> {
    const from = performance.now();
    try {
      last = { count: await count(), at: Date.now() };
      isTold = false;
    } catch (error) {
      // The next try may do it; until then the age tells those who look.
      if (!isTold) told(error);
      isTold = true;
    }
    running = null;
    nextAt = performance.now() + Math.max(everyMs, (performance.now() - from) * REST);
  }

  return async () => {
    if (running === null && performance.now() >= nextAt) running = run();
    if (running !== null) await Promise.race([running, pause(waitMs)]);
    return last;
  };
}

/** Holds no process. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref?.();
  });
}
