/**
 * Why: the failure that a database is run in pairs for must not cost an answer. The primary is killed with -9 under load, its
 * synchronous standby (MariaDB: a semi-synchronous replica) is promoted, and nothing acknowledged is lost, nothing runs twice; each round
 * has two servers of its own. Redis under Sentinel (a master, two replicas) and as a Cluster (three masters, a replica each) fails over
 * asynchronously: its masters are killed, frozen, or replaced while they live, in four configurations by turns. One promises
 * that nothing is lost; what the others lose is counted.
 */
import { promotionRound } from '../../packages/samekey/test/processes/.out/processes/api-promotions.js';
import {
  redisPromotionOf,
  redisPromotionRound,
} from '../../packages/samekey/test/processes/.out/processes/api-redis-promotions.js';
import {
  startRedisCluster,
  startSentinels,
} from '../../packages/samekey/test/processes/.out/services/redis-groups.js';
import { roundsOf } from './rounds.mjs';

export const name = 'promotions';

/** What takes over in this way. */
export const stores = ['postgres', 'mysql', 'redis-sentinel', 'redis-cluster'];

/** @param {import('./rounds.mjs').StoreProofOptions} options */
export function run(options) {
  const { store } = options;
  return store === 'redis-sentinel' || store === 'redis-cluster' ? onRedis(store, options) : onPair(options);
}

/** @param {import('./rounds.mjs').StoreProofOptions} options */
function onPair(options) {
  const sums = { keys: 0, retried: 0, awayMsMax: 0 };
  return roundsOf(options, { rounds: 30 }, async (seed) => {
    const result = await promotionRound({
      seed,
      store: options.store === 'mysql' ? 'mysql' : 'postgres',
      medium: 'disk',
    });
    sums.keys += result.keys;
    sums.retried += result.retried;
    sums.awayMsMax = Math.max(sums.awayMsMax, Math.round(result.awayMs));
    return { failures: result.failures, note: JSON.stringify(sums) };
  });
}

/** @param {'redis-sentinel' | 'redis-cluster'} backend @param {import('./rounds.mjs').StoreProofOptions} options */
async function onRedis(backend, options) {
  const replicas = backend === 'redis-sentinel' ? 2 : 1;
  const group = await (backend === 'redis-sentinel' ? startSentinels : startRedisCluster)(replicas);
  /** @type {Record<string, { rounds: number, keys: number, twice: number, lost: number, unknown: number, awayMsMax: number }>} */
  const sums = {};
  try {
    return await roundsOf(options, { rounds: 36 }, async (seed) => {
      const { configuration, blow } = redisPromotionOf(seed);
      const result = await redisPromotionRound({ seed, backend, group, replicas, configuration, blow });
      const what = `${configuration} ${blow}`;
      const sum = (sums[what] ??= { rounds: 0, keys: 0, twice: 0, lost: 0, unknown: 0, awayMsMax: 0 });
      sum.rounds += 1;
      sum.keys += result.keys;
      sum.twice += result.twice;
      sum.lost += result.lost;
      sum.unknown += result.unknown;
      sum.awayMsMax = Math.max(sum.awayMsMax, Math.round(result.awayMs));
      options.log?.(`${what} ${JSON.stringify(sum)}`);
      return { failures: result.failures, note: JSON.stringify(sums) };
    });
  } finally {
    await group.stop();
  }
}
