/**
 * Redis under Sentinel and as a Cluster: servers that fail over by themselves. A place is a prefix of its own on one group. Their proofs
 * are the promotions; what one server can suffer is tried on one server.
 */

import { Cluster, Redis } from 'ioredis';
import { redisStore } from 'samekey/stores/redis';
import {
  MASTER_NAME,
  type Node,
  type RedisGroup,
  startRedisCluster,
  startSentinels,
} from '../../services/redis-groups.ts';
import { areRedisGroupsHere } from '../../services/redis.ts';
import { type Backend, type BackendKind, type Place, type StoreAddress, textOf } from './backend.ts';

/** How clients are to find out that their server is gone: soon. */
const QUICK = { socketTimeout: 500, connectTimeout: 500 };

let places = 0;

/** A place on a group, with further settings of the store in its address. */
export function placeOnGroup(
  backend: 'redis-sentinel' | 'redis-cluster',
  group: RedisGroup,
  settings: Readonly<Record<string, number>> = {},
): Place {
  places += 1;
  const seeds = group.seeds.map(({ host, port }) => `${host}:${port}`).join(',');
  const address = { backend, seeds, prefix: `group-${places}`, ...settings };
  // It goes with its servers.
  return { address, direct: address, remove: async () => undefined };
}

/** Address: `seeds` (the Sentinels), `prefix`, and `requireReplicas` of the store. */
export const redisSentinelBackend: BackendKind = {
  name: 'redis-sentinel',
  isAvailable: areRedisGroupsHere,
  open(address) {
    const client = new Redis({
      ...QUICK,
      sentinels: seedsOf(address),
      name: MASTER_NAME,
      retryStrategy: () => 20,
      sentinelRetryStrategy: () => 20,
      sentinelCommandTimeout: 500,
      maxRetriesPerRequest: null,
      // A master that came back as a replica: ask the Sentinels again.
      reconnectOnError: (error) => error.message.startsWith('READONLY'),
    });
    return opened(client, address);
  },
  start: async () => backendOn('redis-sentinel', await startSentinels(2)),
};

/** Address: `seeds` (servers of the cluster), `prefix`, and `requireReplicas` of the store. */
export const redisClusterBackend: BackendKind = {
  name: 'redis-cluster',
  isAvailable: areRedisGroupsHere,
  open(address) {
    const client = new Cluster(seedsOf(address), {
      redisOptions: QUICK,
      clusterRetryStrategy: () => 50,
      slotsRefreshTimeout: 1_000,
      slotsRefreshInterval: 500,
    });
    return opened(client, address);
  },
  start: async () => backendOn('redis-cluster', await startRedisCluster(0)),
};

function opened(client: Redis | Cluster, address: StoreAddress): ReturnType<BackendKind['open']> {
  client.on('error', () => undefined);
  const requireReplicas = address['requireReplicas'];
  const store = redisStore({
    service: 'test',
    client,
    durability: 'always',
    prefix: textOf(address, 'prefix'),
    ...(typeof requireReplicas === 'number' ? { requireReplicas } : {}),
  });
  return {
    // Nothing has to be made before it is used.
    store: { ...store, migrate: async () => undefined },
    close: async () => client.disconnect(),
  };
}

function backendOn(name: 'redis-sentinel' | 'redis-cluster', group: RedisGroup): Backend {
  return {
    name,
    faults: {},
    createPlace: async () => placeOnGroup(name, group),
    close: () => group.stop(),
  };
}

function seedsOf(address: StoreAddress): Node[] {
  return textOf(address, 'seeds')
    .split(',')
    .map((seed) => {
      const [host = '', port] = seed.split(':');
      return { host, port: Number(port) };
    });
}
