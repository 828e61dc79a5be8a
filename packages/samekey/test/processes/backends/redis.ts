/**
 * Redis with `appendfsync always`: a place is a prefix of its own on one server. With faults wanted, the processes reach it through a
 * proxy.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { redisStore } from 'samekey/stores/redis';
import { startFaultProxy } from '../../services/fault-proxy.ts';
import { isRedisHere, startRedis } from '../../services/redis.ts';
import { respWire } from '../../services/resp-wire.ts';
import { type BackendKind, textOf } from './backend.ts';

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
    const store = redisStore({ client, durability: 'always', prefix: textOf(address, 'prefix') });
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
        async crash() {
          await server.kill();
          await server.restart();
        },
        async freeze(random) {
          const thaw = server.freeze();
          // From shorter than a claim to longer than what a store may take.
          await sleep(100 + random() * 1_400);
          thaw();
        },
        ...(proxy !== undefined && {
          cut: async () => proxy.cut(),
          deaf: async (random: () => number) => proxy.goDeaf(random() < 0.5 ? 'both' : undefined),
          async 'lose-reply'(random: () => number) {
            const armed = proxy.arm({
              statement: /^EVALSHA /,
              nth: 1 + Math.floor(random() * 4),
              what: 'lose-reply',
              leaves: random() < 0.5 ? 'closed' : 'half-open',
            });
            // So many calls need not come any more.
            await Promise.race([armed.happened, sleep(500)]);
            armed.disarm();
          },
        }),
      },
      async close() {
        await proxy?.close();
        await server.stop();
      },
    };
  },
};
