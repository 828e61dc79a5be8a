/**
 * Redis with `appendfsync always`: a place is a prefix of its own on one server. With faults wanted, the processes reach it through a
 * proxy.
 */

import { Redis } from 'ioredis';
import { redisStore } from 'samekey/stores/redis';
import { startFaultProxy } from '../../services/fault-proxy.ts';
import { isRedisHere, startRedis } from '../../services/redis.ts';
import { respWire } from '../../services/resp-wire.ts';
import { type BackendKind, textOf } from './backend.ts';
import { proxyFaults, serverFaults } from './faults.ts';

let places = 0;

/** Address: `url` and `prefix`. */
export const redisBackend: BackendKind = {
  name: 'redis',
  isAvailable: () => isRedisHere() && process.env['SAMEKEY_TEST_REDIS_URL'] === undefined,
  open(address) {
    const client = new Redis(textOf(address, 'url'), {
      retryStrategy: () => 20,
      maxRetriesPerRequest: null,
      // A connection that carries nothing any more is given up.
      socketTimeout: 1_000,
      connectTimeout: 1_000,
    });
    client.on('error', () => undefined);
    const store = redisStore({
      service: 'test',
      client,
      durability: 'always',
      prefix: textOf(address, 'prefix'),
    });
    return {
      // Nothing has to be made before it is used.
      store: { ...store, migrate: async () => undefined },
      close: async () => client.disconnect(),
    };
  },
  async start({ faulty = false } = {}) {
    const server = await startRedis();
    const proxy = faulty ? await startFaultProxy(server.url, respWire) : undefined;
    return {
      name: 'redis',
      async createPlace() {
        places += 1;
        const prefix = `place-${places}`;
        return {
          address: { backend: 'redis', url: proxy?.url ?? server.url, prefix },
          direct: { backend: 'redis', url: server.url, prefix },
          // It goes with its server.
          remove: async () => undefined,
        };
      },
      faults: {
        ...serverFaults(server),
        ...(proxy !== undefined &&
          proxyFaults(proxy, (random) => ({ statement: /^EVALSHA /, nth: 1 + Math.floor(random() * 4) }))),
      },
      async close() {
        await proxy?.close();
        await server.stop();
      },
    };
  },
};
