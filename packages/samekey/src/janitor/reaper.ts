/**
 * One round of the reaper: small batches with pauses that follow the load (F47). It takes at most a quarter of the
 * time, so three quarters are the traffic's; a batch that took long is a database under load: the next one is half as
 * large, and the pause doubles.
 */

import type { Store } from '../store/store.ts';
import type { JanitorEvent } from './janitor-events.ts';

/** What a reaper works with. */
interface ReaperOptions {
  readonly store: Pick<Store, 'reap'>;
  readonly batchSizeMax: number;
  readonly emit: (event: JanitorEvent) => void;
  /** A pause that may be ended early. */
  readonly pause: (ms: number) => Promise<void>;
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
}

/** Pauses are so many times as long as the batch before them. */
const PAUSES_PER_BATCH = 3;
/** A batch of ours takes some milliseconds; longer, and others wait as well. */
const SLOW_MS = 50;
const BATCH_SIZE_MIN = 20;
const PAUSE_MIN_MS = 2;
const PAUSE_MAX_MS = 2_000;

/**
 * Makes it: each call is one round, to the last expired record or until it is told to end. Returns how many; throws
 * `StoreError`.
 */
export function createReaper(options: ReaperOptions): (isStopping: () => boolean) => Promise<number> {
  const { store, batchSizeMax, emit, pause, now } = options;
  const sizeMin = Math.min(BATCH_SIZE_MIN, batchSizeMax);
  let size = batchSizeMax;
  let pauseMs = PAUSE_MIN_MS;
  return async (isStopping) => {
    let reaped = 0;
    while (!isStopping()) {
      const from = now();
      const { count } = await store.reap(size);
      const durationMs = now() - from;
      reaped += count;
      if (count > 0) emit({ type: 'reaped', count, durationMs });
      if (count < size) break;
      const isSlow = durationMs > SLOW_MS;
      size = isSlow ? Math.max(sizeMin, size >> 1) : Math.min(batchSizeMax, size * 2);
      pauseMs = isSlow ? pauseMs * 2 : pauseMs / 2;
      pauseMs = Math.min(PAUSE_MAX_MS, Math.max(PAUSE_MIN_MS, pauseMs, durationMs * PAUSES_PER_BATCH));
      await pause(pauseMs);
    }
    return reaped;
  };
}
