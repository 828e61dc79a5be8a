/**
 * Why: a deploy happens every day, a crash hardly ever; a rolling restart under load must leave no key unknown (F65).
 */
import { startCluster } from '../../packages/samekey/test/processes/.out/api-cluster.js';
import { rollingRestart } from '../../packages/samekey/test/processes/.out/api-restarts.js';
import { roundsOf } from './rounds.mjs';

export const name = 'restarts';

/** @param {import('./rounds.mjs').ProofOptions} options */
export async function run(options) {
  const cluster = await startCluster({ size: 4, claimTtlMs: 1_500 });
  const sums = { keys: 0, retried: 0 };
  try {
    return await roundsOf(options, { rounds: 50 }, async (seed) => {
      const result = await rollingRestart(cluster, { seed });
      sums.keys += result.keys;
      sums.retried += result.retried;
      return { failures: result.failures, note: JSON.stringify(sums) };
    });
  } finally {
    await cluster.close();
  }
}
