/**
 * Why: a deploy happens every day, a crash hardly ever; a rolling restart under load must leave no key unknown (F65).
 */
import { startCluster } from '../../packages/samekey/test/processes/.out/processes/api-cluster.js';
import { rollingRestart } from '../../packages/samekey/test/processes/.out/processes/api-restarts.js';
import { onBackend } from './backend.mjs';
import { roundsOf } from './rounds.mjs';

export const name = 'restarts';

/** Over each of them that the machine has. */
export const stores = [
  'sqlite',
  'postgres',
  'pgbouncer',
  'distributed',
  'citus',
  'mysql',
  'redis',
  'dynamodb',
];

/** @param {import('./rounds.mjs').StoreProofOptions} options */
export function run(options) {
  return onBackend(options, {}, async (backend) => {
    const cluster = await startCluster({ backend, size: 4, claimTtlMs: 1_500 });
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
  });
}
