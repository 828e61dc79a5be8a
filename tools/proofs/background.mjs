/**
 * Why: the faults that people meet sit between the parts that work when nobody asks. APIs, workers, janitors and a reconciler are killed
 * and frozen at their probe points, the store is killed, a provider fails, webhooks come twice, and two operators settle and requeue at
 * once: the books are equal in the end, every act has its row, nothing sticks, and nothing ran twice.
 */
import { backgroundRound } from '../../packages/samekey/test/processes/.out/processes/background-round.js';
import { onBackend } from './backend.mjs';
import { roundsOf } from './rounds.mjs';

export const name = 'background';

export const stores = ['sqlite', 'postgres', 'mysql'];

/** In pieces, so that each core has an installation of its own. */
export const piece = 10;
export const rounds = 100;

/** @param {import('./rounds.mjs').StoreProofOptions} options */
export function run(options) {
  return onBackend(options, { medium: 'disk' }, async (backend) => {
    /** @type {Record<string, number>} */
    const sums = {};
    return roundsOf(options, { rounds: piece }, async (seed) => {
      const { failures, counts } = await backgroundRound(backend, seed);
      for (const [what, count] of Object.entries(counts)) sums[what] = (sums[what] ?? 0) + count;
      return { failures, note: JSON.stringify(sums) };
    });
  });
}
