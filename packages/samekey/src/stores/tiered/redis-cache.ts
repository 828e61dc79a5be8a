/**
 * A shared cache in Redis or Valkey: plain GET and MGET, SET with a time to live, DEL. Any eviction policy will do:
 * what is lost is asked of the store.
 */

import { anything, readOptions, required, type Table, text } from '../../core/options.ts';
import { openConnection, type RedisClient } from '../redis/client.ts';
import type { SharedCache } from './options.ts';

/** Options of {@link redisCache}. */
export interface RedisCacheOptions {
  /**
   * A connected client of ioredis or node-redis, also of a Cluster or Sentinel. Give it an `error` listener: it stays
   * yours.
   */
  readonly client: RedisClient;
  /** What all names begin with; default `samekey-cache`. */
  readonly prefix?: string;
}

const ROWS = {
  client: required(anything<RedisClient>()),
  // It keeps the cache apart from other keys.
  prefix: text('samekey-cache'),
} satisfies Table<RedisCacheOptions>;

/** Makes one. Throws `OptionsError`. */
export function redisCache(options: RedisCacheOptions): SharedCache {
  const { client, prefix } = readOptions('redisCache', ROWS, options);
  const connection = openConnection(client);
  const keyOf = (name: string): string => `${prefix}:${name}`;
  return {
    async get(names) {
      const keys = names.map(keyOf);
      const [first = ''] = keys;
      if (keys.length > 1 && !connection.isCluster) {
        const found = await connection.send(first, 'MGET', keys);
        return Array.isArray(found) ? found.map(bytesOf) : names.map(() => null);
      }
      // In a Cluster one command may not span slots; given in one turn, those for one server go out together.
      return Promise.all(keys.map(async (key) => bytesOf(await connection.send(key, 'GET', [key]))));
    },
    put: (name, bytes, ttlMs) =>
      connection.send(keyOf(name), 'SET', [keyOf(name), bytes, 'PX', String(Math.max(1, Math.ceil(ttlMs)))]),
    drop: (names) => Promise.all(names.map((name) => connection.send(keyOf(name), 'DEL', [keyOf(name)]))),
  };
}

function bytesOf(found: unknown): Uint8Array | null {
  return found instanceof Uint8Array ? found : null;
}
