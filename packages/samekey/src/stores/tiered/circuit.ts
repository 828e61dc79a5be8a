/** Leaves a cache alone that has failed: longer each time, with one question to see whether it is back. */

import type { TieredWorld } from './options.ts';

/** When the shared cache may be asked. */
interface Circuit {
  /** True: ask, and say how it went. While it is left alone, true for one question at the end of each pause. */
  mayAsk(): boolean;
  /** Whether it is not left alone. */
  readonly isWell: boolean;
  succeeded(): void;
  failed(): void;
}

const PAUSE_MIN_MS = 1_000;
const PAUSE_MAX_MS = 30_000;

/** Makes one; the cache is held to be well. */
export function createCircuit(world: Pick<TieredWorld, 'monotonicNow'>): Circuit {
  let pauseMs = 0;
  let until = 0;
  let isTrying = false;
  return {
    get isWell() {
      return pauseMs === 0;
    },
    mayAsk() {
      if (pauseMs === 0) return true;
      const now = world.monotonicNow();
      if (now < until) return false;
      // The others wait for what this one finds.
      until = now + pauseMs;
      isTrying = true;
      return true;
    },
    succeeded() {
      pauseMs = 0;
      isTrying = false;
    },
    failed() {
      // Questions that were under way together fail together: one pause for all of them.
      if (pauseMs > 0 && !isTrying) return;
      isTrying = false;
      pauseMs = Math.min(PAUSE_MAX_MS, Math.max(PAUSE_MIN_MS, pauseMs * 2));
      until = world.monotonicNow() + pauseMs;
    },
  };
}
