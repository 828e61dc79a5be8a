/**
 * Why: two versions of the code that run side by side must never run a key twice, whichever of them it meets first, and least when its
 * two tries reach both in the same instant: real processes on PostgreSQL, one deploy in each round, all of them in turn.
 */
import { deployRound } from '../../packages/samekey/test/processes/.out/processes/deploy-round.js';
import { anyPostgres, startPostgres } from '../../packages/samekey/test/processes/.out/services/postgres.js';
import { roundsOf } from './rounds.mjs';

export const name = 'deploys';

export const stores = ['postgres'];

export const rounds = 18;
export const piece = 9;

/** @param {import('./rounds.mjs').StoreProofOptions} options */
export async function run(options) {
  const source = anyPostgres();
  if (source === undefined) throw new Error('This machine has no PostgreSQL.');
  const server = await startPostgres(source, {}, 'disk');
  /** @type {Record<string, number>} */
  const sums = {};
  try {
    return await roundsOf(options, { rounds: piece }, async (seed) => {
      const { failures, counts } = await deployRound(server, seed);
      for (const [what, count] of Object.entries(counts)) sums[what] = (sums[what] ?? 0) + count;
      return { failures, note: JSON.stringify(sums) };
    });
  } finally {
    await server.stop();
  }
}
