/** The Redis store holds the contract on a Cluster of three masters, with each client. */

import { afterAll, beforeAll, describe } from 'vitest';
import { storeContract } from '../../../testing/src/store-contract.ts';
import { areRedisGroupsHere } from '../services/redis.ts';
import { type RedisGroup, startRedisCluster } from '../services/redis-groups.ts';
import { partOf } from './slice.ts';
import { CLUSTER_CLIENTS, redisHarness } from './redis-clients.ts';

describe.runIf(areRedisGroupsHere())('a Cluster of its own', () => {
  let cluster: RedisGroup;
  beforeAll(async () => {
    cluster = await startRedisCluster(0);
  });
  afterAll(() => cluster.stop());

  for (const client of CLUSTER_CLIENTS) {
    const urls = (): string => cluster.servers.map(({ url }) => url).join(',');
    storeContract(partOf(`Redis Cluster, ${client.name}`, false), redisHarness(urls, client));
  }
});
