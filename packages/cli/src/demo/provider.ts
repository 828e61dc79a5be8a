/**
 * A stand-in for a payment provider: it takes its time, so that a second click and a hang-up meet a payment under way.
 */

import { setTimeout as pause } from 'node:timers/promises';

/** Charges a card somewhere else. */
export interface Provider {
  /** Resolves when the provider has agreed. Rejects when `signal` is aborted. */
  authorize(signal: AbortSignal): Promise<void>;
}

const FASTEST_MS = 300;
const SLOWEST_MS = 800;

/** A provider that agrees to everything after 300 to 800 ms. */
export function slowProvider(): Provider {
  return {
    async authorize(signal) {
      await pause(FASTEST_MS + Math.random() * (SLOWEST_MS - FASTEST_MS), undefined, { signal });
    },
  };
}
