/** What a janitor did in one run, from its events. */

/** The counts. */
interface Counts {
  /** By the state that records were moved to. */
  readonly swept: Readonly<Record<string, number>>;
  readonly reaped: number;
  readonly pruned: number;
  readonly durationMs: number;
}

/** What counts. */
export interface Tally {
  /** Counts, and passes on. */
  readonly listener: (event: { readonly type: string }) => void;
  /** The first call of the store that failed; null: none. */
  readonly error: unknown;
  counts(): Counts;
}

/** Makes it. */
export function createTally(next: (event: { readonly type: string }) => void): Tally {
  const startedAt = performance.now();
  const swept: Record<string, number> = {};
  let reaped = 0;
  let pruned = 0;
  let error: unknown = null;
  return {
    listener(event) {
      const { type, to, count, error: thrown } = event as Event;
      if (type === 'swept-record' && to !== undefined) swept[to] = (swept[to] ?? 0) + 1;
      if (type === 'reaped') reaped += count ?? 0;
      if (type === 'audit-pruned') pruned += count ?? 0;
      if (type === 'store-error') error ??= thrown;
      next(event);
    },
    get error() {
      return error;
    },
    counts: () => ({ swept, reaped, pruned, durationMs: Math.round(performance.now() - startedAt) }),
  };
}

interface Event {
  readonly type: string;
  readonly to?: string;
  readonly count?: number;
  readonly error?: unknown;
}
