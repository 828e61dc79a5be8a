/**
 * PostgreSQL behind a cache in Redis that all processes share: a place is a database of its own, and a prefix of the cache. It is the
 * cache that suffers here.
 */

import { Redis } from 'ioredis';
import type { Store } from 'samekey';
import { redisCache, tieredStore } from 'samekey/stores/tiered';
import { startFaultProxy } from '../../services/fault-proxy.ts';
import { anyPostgres, startPostgres } from '../../services/postgres.ts';
import { isRedisHere, startRedis } from '../../services/redis.ts';
import { type BackendKind, type OpenStore, type StoreAddress, textOf } from './backend.ts';
import { connectionFaults, serverFaults } from './faults.ts';
import { placeOn, postgresBackend } from './postgres.ts';

/** The cache is asked each time, whatever it is worth. */
function openTiered(address: StoreAddress): OpenStore {
  const behind = postgresBackend.open(address);
  const client = new Redis(textOf(address, 'cache'), { retryStrategy: () => 20 });
  client.on('error', () => undefined);
  const cache = redisCache({ client, prefix: textOf(address, 'prefix') });
  const tiered: Store = tieredStore({
    store: behind.store,
    cache,
    replayShareMin: 0,
    memoryBytesMax: 1_000_000,
  });
  return {
    store: { ...tiered, migrate: () => behind.store.migrate() },
    close: async () => {
      await behind.close();
      client.disconnect();
    },
  };
}

let places = 0;

/** Address: as of PostgreSQL, and `cache` and `prefix`. */
export const tieredBackend: BackendKind = {
  name: 'tiered',
  isAvailable: () =>
    anyPostgres() !== undefined && isRedisHere() && process.env['SAMEKEY_TEST_REDIS_URL'] === undefined,
  open: openTiered,
  async start({ faulty = false, medium = 'memory' } = {}) {
    const source = anyPostgres();
    if (source === undefined) throw new Error('This machine has no PostgreSQL.');
    const server = await startPostgres(source, {}, medium);
    const redis = await startRedis({ appendonly: 'no' });
    const proxy = faulty ? await startFaultProxy(redis.url) : undefined;
    return {
      name: 'tiered',
      async createPlace() {
        places += 1;
        const { direct } = placeOn(await server.createDatabase());
        const address = {
          ...direct,
          backend: 'tiered',
          cache: proxy?.url ?? redis.url,
          prefix: `place-${places}`,
        };
        // The harness looks at the records themselves. It goes with its server.
        return { address, direct, remove: async () => undefined };
      },
      faults: { ...serverFaults(redis), ...(proxy !== undefined && connectionFaults(proxy)) },
      async close() {
        await proxy?.close();
        await Promise.all([server.stop(), redis.stop()]);
      },
    };
  },
};
