/**
 * How long an operation usually runs, learnt from the runs of this process, and when a request that met a running one
 * should ask again (contract §4.4, F86). Pure but for what it remembers.
 *
 * Invariants: bounded (operations, runs each) · only runs that succeeded count: a failure is often quick · nothing is
 * concluded from few runs.
 */

/** What is known of an attempt that runs, in milliseconds. */
export interface Running {
  /** How long its claim has been held. */
  readonly ageMs: number;
  /** How long its claim still lasts unless renewed; 0 when that is not known. */
  readonly claimLeftMs: number;
  /** How long its operation usually runs; null: not known. */
  readonly usualMs: number | null;
}

/** What remembers how long operations ran. */
export interface UsualLengths {
  /** A run has succeeded. */
  note(operation: string, lengthMs: number): void;
  /** The median of its last runs; null when there were too few. */
  of(operation: string): number | null;
}

/** Operations remembered; those that come later are not, or many names would push each other out. */
const OPERATIONS_MAX = 200;
/** Runs of an operation that count: the last. */
const RUNS_MAX = 64;
/** Runs from which on something is known. */
const RUNS_MIN = 8;

interface Runs {
  readonly lengths: Float64Array;
  count: number;
  /** NaN: to be made again. */
  median: number;
}

/** Makes the memory of one engine. */
export function createUsualLengths(): UsualLengths {
  const operations = new Map<string, Runs>();
  return {
    note(operation, lengthMs) {
      let runs = operations.get(operation);
      if (runs === undefined) {
        if (operations.size >= OPERATIONS_MAX) return;
        runs = { lengths: new Float64Array(RUNS_MAX), count: 0, median: Number.NaN };
        operations.set(operation, runs);
      }
      runs.lengths[runs.count % RUNS_MAX] = lengthMs;
      // Counted on from a full round, it never grows beyond what is exact.
      runs.count = runs.count + 1 < 2 * RUNS_MAX ? runs.count + 1 : RUNS_MAX;
      runs.median = Number.NaN;
    },
    of(operation) {
      const runs = operations.get(operation);
      if (runs === undefined || runs.count < RUNS_MIN) return null;
      if (Number.isNaN(runs.median)) runs.median = medianOf(runs);
      return runs.median;
    },
  };
}

function medianOf({ lengths, count }: Runs): number {
  const sorted = lengths.slice(0, Math.min(count, RUNS_MAX)).toSorted();
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

const SECOND_MS = 1_000;
const WAIT_MAX_MS = 60 * SECOND_MS;

/**
 * When to ask again, in whole seconds as milliseconds. An attempt of unknown length is asked about when it is twice as
 * old, so a short one is seen soon and a long one seldom; one of known length near its end, but never later than twice
 * its age: one run need not be like the others.
 */
export function askAgainAfter({ ageMs, claimLeftMs, usualMs }: Running): number {
  const waitMs =
    usualMs === null ? ageMs : ageMs < usualMs ? Math.min(usualMs - ageMs, 2 * ageMs) : ageMs / 2;
  const mostMs =
    claimLeftMs < SECOND_MS ? WAIT_MAX_MS : Math.min(WAIT_MAX_MS, wholeSeconds(claimLeftMs, Math.floor));
  return Math.min(mostMs, Math.max(SECOND_MS, wholeSeconds(waitMs, Math.ceil)));
}

function wholeSeconds(ms: number, round: (seconds: number) => number): number {
  return round(ms / SECOND_MS) * SECOND_MS;
}
