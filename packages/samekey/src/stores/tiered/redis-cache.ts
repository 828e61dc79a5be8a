/** A shared cache in Redis or Valkey: plain GET, SET with a time to live, DEL. Any eviction policy will do: what is lost is asked of the store. */

import { OptionsError } from '../../core/errors.ts';
import { refuseUnknown } from '../../core/settings.ts';
import { openConnection, type RedisClient } from '../redis/redis-client.ts';
import type { SharedCache } from './options.ts';

/** Options of {@link redisCache}. */
export interface RedisCacheOptions {
  /** A connected client of ioredis or node-redis, also of a Cluster or Sentinel. Give it an `error` listener: it stays yours. */
  readonly client: RedisClient;
  /** What all names begin with; default `samekey-cache`. */
  readonly prefix?: string;
}

/** Makes one. Throws `OptionsError`. */
export function redisCache(options: RedisCacheOptions): SharedCache {
  refuseUnknown('redisCache', options, ['client', 'prefix']);
  const { prefix = 'samekey-cache' } = options;
  if (typeof prefix !== 'string' || prefix === '') {
    throw new OptionsError(
      'prefix must be a text that is not empty: it keeps the cache apart from other keys.',
    );
  }
  const connection = openConnection(options.client);
  const keyOf = (name: string): string => `${prefix}:${name}`;
  // One command a name, given in one turn: they go out together, also in a Cluster, where one command may not span slots.
  return {
    get: (names) =>
      Promise.all(
        names.map(async (name) => {
          const found = await connection.send(keyOf(name), 'GET', [keyOf(name)]);
          return found instanceof Uint8Array ? found : null;
        }),
      ),
    put: (name, bytes, ttlMs) =>
      connection.send(keyOf(name), 'SET', [keyOf(name), bytes, 'PX', String(Math.max(1, Math.ceil(ttlMs)))]),
    drop: (names) => Promise.all(names.map((name) => connection.send(keyOf(name), 'DEL', [keyOf(name)]))),
  };
}
