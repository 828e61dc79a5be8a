/** SET NX and SET, as people write them: a mark first, then the answer over it; both end by themselves after a day. */
import { Redis } from 'ioredis';
import { createClient } from 'redis';

const DAY_MS = 86_400_000;

/**
 * @param {string} url
 * @param {string} [name] `node-redis`; default ioredis
 */
export async function openRedis(url, name = 'ioredis') {
  if (name === 'ioredis') {
    const client = new Redis(url, { socketTimeout: 10_000 });
    return { client, close: async () => client.disconnect() };
  }
  const socket = { socketTimeout: 10_000, reconnectStrategy: 50 };
  const client = createClient({ url, socket, pingInterval: 2_000 });
  client.on('error', () => undefined);
  await client.connect();
  return { client, close: async () => client.destroy() };
}

/** @type {import('../contract.d.ts').OpenHandWritten} */
export async function open({ url, client: name }) {
  const { client, close } = await openRedis(url, name);
  if (client instanceof Redis) {
    return {
      begin: async (key) => (await client.set(`hand:${key}`, 'begun', 'PX', DAY_MS, 'NX')) === 'OK',
      end: async (key, text) => void (await client.set(`hand:${key}`, text, 'PX', DAY_MS)),
      find: (key) => client.get(`hand:${key}`),
      close,
    };
  }
  return {
    begin: async (key) => (await client.set(`hand:${key}`, 'begun', { PX: DAY_MS, NX: true })) === 'OK',
    end: async (key, text) => void (await client.set(`hand:${key}`, text, { PX: DAY_MS })),
    find: async (key) => {
      const found = await client.get(`hand:${key}`);
      return found === null ? null : String(found);
    },
    close,
  };
}
