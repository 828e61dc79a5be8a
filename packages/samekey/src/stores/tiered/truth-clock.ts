/**
 * What the clock of the store that decides says at most, without asking it: from its last answer and the time since
 * that question. By it all processes agree how old an entry of the shared cache is, whatever their own clocks or the
 * cache's say; and it is the clock by which a reopened key waits (F62).
 *
 * Invariant: `atMost` is never less than what the store would say now, unless its clock was set forward since its last
 * answer.
 */

import { type Asked, elapsedMs } from '../../engine/replay-cache.ts';
import type { TieredWorld } from './options.ts';

/** The store's clock, as this process knows it. */
export interface TruthClock {
  /** A question that was asked then was answered by a store whose clock showed `now`. */
  learn(asked: Asked, now: number): void;
  /** What it shows now at most, in milliseconds since 1970; null when it was not heard of for too long. */
  atMost(): number | null;
}

/**
 * Clocks of machines differ by less than a tenth of a millisecond in a second: in a minute by 6 ms. A reopened key
 * waits a second more.
 */
const HEARD_MAX_MS = 60_000;

/** Makes one that knows nothing yet. */
export function createTruthClock(world: TieredWorld): TruthClock {
  let last: { readonly asked: Asked; readonly now: number } | null = null;
  return {
    learn(asked, now) {
      // The latest word counts, not the least: an earlier one knows nothing of a clock that was set forward.
      if (last === null || asked.monotonic >= last.asked.monotonic) last = { asked, now };
    },
    atMost() {
      if (last === null) return null;
      const sinceMs = elapsedMs(world, last.asked);
      return sinceMs > HEARD_MAX_MS ? null : last.now + Math.ceil(sinceMs);
    },
  };
}
