/** The Redis store, with either client. */
import { redisStore } from 'samekey/stores/redis';
import { openRedis } from '../hand-written/redis.mjs';

/** @type {import('../contract.d.ts').OpenStore} */
export async function open({ url, client: name }) {
  const { client, close } = await openRedis(url, name);
  const reply =
    'configGet' in client ? await client.configGet('appendfsync') : await client.config('GET', 'appendfsync');
  const durability = JSON.stringify(reply).includes('always') ? 'always' : 'everysec';
  return { store: redisStore({ service: 'test', client, durability }), close };
}
