/**
 * A master of Redis dies, freezes or is replaced under load, and every replica must have what is acknowledged: nothing is lost, nothing runs
 * twice. The long run, which also counts what weaker settings lose, is `node tools/prove.mjs promotions --store
 * redis-sentinel,redis-cluster`.
 */

import { describe, expect, it } from 'vitest';
import { MASTER_BLOWS, redisPromotionRound } from '../processes/api-redis-promotions.ts';
import { areRedisGroupsHere } from '../services/redis.ts';
import { startSentinels } from '../services/redis-groups.ts';
import { seedOf } from './seed.ts';

describe.runIf(areRedisGroupsHere())('a replica that takes over', () => {
  // F44
  it('under load, with requireReplicas for all of them: nothing acknowledged is lost, nothing runs twice', async () => {
    const seed = seedOf('redis promotion');
    const group = await startSentinels(1);
    try {
      const { failures, keys } = await redisPromotionRound({
        seed,
        backend: 'redis-sentinel',
        group,
        replicas: 1,
        configuration: 'all',
        blow: MASTER_BLOWS[seed % MASTER_BLOWS.length] ?? 'kill',
      });
      expect(failures).toEqual([]);
      expect(keys).toBeGreaterThan(60);
    } finally {
      await group.stop();
    }
  });
});
