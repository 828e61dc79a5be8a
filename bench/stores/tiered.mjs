/**
 * PostgreSQL behind a cache in Redis. The fragment of the URL says where the cache is, and `share` and `memory` of the tiered store:
 * `postgres://…#cache=redis://…&share=0.1&memory=0`; without a cache it is PostgreSQL alone.
 */
import { Redis } from 'ioredis';
import { redisCache, tieredStore } from 'samekey/stores/tiered';
import { open as openPostgres } from './postgres.mjs';

/** @type {import('../contract.d.ts').OpenStore} */
export async function open({ url }) {
  const [database = '', fragment = ''] = url.split('#');
  const settings = new URLSearchParams(fragment);
  const behind = await openPostgres({ url: database });
  const cacheUrl = settings.get('cache');
  if (cacheUrl === null) return behind;
  const client = new Redis(cacheUrl);
  client.on('error', () => undefined);
  const store = tieredStore({
    store: behind.store,
    cache: redisCache({ client, prefix: `bench-${process.pid}` }),
    replayShareMin: Number(settings.get('share') ?? 0.1),
    memoryBytesMax: Number(settings.get('memory') ?? 0),
  });
  return {
    store,
    async close() {
      client.disconnect();
      await behind.close();
    },
  };
}
