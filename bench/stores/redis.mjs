/** The Redis store, with either client. */
import { redisStore } from 'samekey/stores/redis';
import { openRedis } from '../hand-written/redis.mjs';

/** @type {import('../contract.d.ts').OpenStore} */
export async function open({ url, client: name }) {
  const { client, close } = await openRedis(url, name);
  // What the server is set to is the run's affair; `none` is never refused.
  return { store: redisStore({ client, durability: 'none' }), close };
}
