/** The Redis clients, and stores under prefixes of their own whose clock only `advance` moves. */

import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster } from 'redis';
import { type RedisClient, redisStore } from '../../src/stores/redis/index.ts';
import type { StoreHarness } from '../../../testing/src/store-contract.ts';

/** node-redis ends what carries nothing, and connects no more unless it is told to. */
const COMING_BACK = { socketTimeout: 20_000, reconnectStrategy: 20 };

/** What a test does with one client library. */
export interface TestClient {
  readonly name: string;
  readonly open: (url: string) => Promise<{ readonly client: RedisClient; readonly close: () => void }>;
}

export const CLIENTS: readonly TestClient[] = [
  {
    name: 'ioredis',
    async open(url) {
      const client = new Redis(url, { socketTimeout: 20_000 });
      client.on('error', () => undefined);
      return { client, close: () => client.disconnect() };
    },
  },
  ...([2, 3] as const).map(
    (RESP): TestClient => ({
      name: `node-redis with RESP${RESP}`,
      async open(url) {
        const client = createClient({ url, RESP, socket: COMING_BACK });
        client.on('error', () => undefined);
        await client.connect();
        return { client, close: () => client.destroy() };
      },
    }),
  ),
];

/** The same on a Cluster, whose servers are given as URLs with commas between. */
export const CLUSTER_CLIENTS: readonly TestClient[] = [
  {
    name: 'a cluster, by ioredis',
    async open(urls) {
      const client = new Cluster(urls.split(','), { redisOptions: { socketTimeout: 5_000 } });
      client.on('error', () => undefined);
      return { client, close: () => client.disconnect() };
    },
  },
  {
    name: 'a cluster, by node-redis',
    async open(urls) {
      const client = createCluster({
        rootNodes: urls.split(',').map((url) => ({ url })),
        defaults: { socket: { ...COMING_BACK, socketTimeout: 5_000 } },
      });
      client.on('error', () => undefined);
      await client.connect();
      return { client, close: () => client.destroy() };
    },
  },
];

let prefixes = 0;

/** The contract's harness: a prefix per store on one server. */
export function redisHarness(url: () => string, { name, open }: TestClient): StoreHarness {
  return {
    name: `redis with ${name}`,
    auditsTransitions: true,
    async create(options) {
      prefixes += 1;
      const prefix = `t${process.pid}-${Date.now()}-${prefixes}`;
      let now = Date.UTC(2030, 0);
      const ends: (() => void)[] = [];
      const handle = async (): Promise<ReturnType<typeof redisStore>> => {
        const { client, close } = await open(url());
        ends.push(close);
        const store = redisStore({
          service: 'test',
          ...options,
          client,
          prefix,
          durability: 'always',
          shards: 8,
          now: () => now,
        });
        await store.ready();
        return store;
      };
      return {
        store: await handle(),
        advance(ms) {
          now += ms;
        },
        another: () => handle(),
        async close() {
          for (const end of ends) end();
        },
      };
    },
  };
}
