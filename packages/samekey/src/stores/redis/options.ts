/** The Redis store's options, checked before anything is sent. */

import { OptionsError } from '../../core/errors.ts';
import { refuseUnknown, wholeNumber } from '../../core/settings.ts';
import { type Connection, openConnection, type RedisClient } from './redis-client.ts';

/** What of an acknowledged record outlives what. */
export type Durability = 'always' | 'everysec' | 'none';

/** Options of `redisStore`. */
export interface RedisStoreOptions {
  /**
   * A connected client of ioredis (`Redis`, `Cluster`) or node-redis (client, pool, cluster, sentinel), on which nobody opens MULTI
   * and nothing blocks: best one of its own. It stays the user's.
   */
  readonly client: RedisClient;
  /**
   * What the server is set to, as you know it; `ready()` checks it. `always`: `appendonly yes`, `appendfsync always`. `everysec`:
   * `appendfsync everysec`, so a power cut may take what was acknowledged in the last two seconds, and those keys run again.
   * `none`: no append-only file; after a restart keys act as fresh. No default.
   */
  readonly durability: Durability;
  /** What all keys begin with, inside the hash tag; default `samekey`. */
  readonly prefix?: string;
  /**
   * In how many parts records and their indexes lie, 1–1,024; default 64. Fixed with the first record. In a Cluster each part is on
   * one server.
   */
  readonly shards?: number;
  /**
   * How many replicas must have a claim and an end of an attempt before they are acknowledged (`WAIT`); default 0. Fewer: the claim is
   * undone and the request is answered 503.
   */
  readonly requireReplicas?: number;
  /** How long replicas are waited for, in milliseconds; default 1,000. Less than `storeTimeMaxMs`. */
  readonly waitTimeMaxMs?: number;
  /** Test-only clock: milliseconds since 1970. Default: the server's. */
  readonly now?: () => number;
}

/** The options with their defaults filled in. */
export interface CheckedOptions {
  readonly connection: Connection;
  readonly durability: Durability;
  readonly prefix: string;
  readonly shards: number;
  readonly requireReplicas: number;
  readonly waitTimeMaxMs: number;
  readonly now: (() => number) | undefined;
}

const NAMES = ['client', 'durability', 'prefix', 'shards', 'requireReplicas', 'waitTimeMaxMs', 'now'];

/** Fills in defaults. Throws `OptionsError` naming the option. */
export function checkOptions(options: RedisStoreOptions): CheckedOptions {
  refuseUnknown('redisStore', options ?? {}, NAMES);
  const { client, durability, prefix = 'samekey', now } = options ?? {};
  const connection = openConnection(client);
  if (durability !== 'always' && durability !== 'everysec' && durability !== 'none') {
    throw new OptionsError(
      `durability must be "always", "everysec" or "none", as the server is set; it is ${String(durability)}.`,
    );
  }
  if (typeof prefix !== 'string' || !/^[\w.\-/]{1,64}$/.test(prefix)) {
    throw new OptionsError(
      `prefix must be 1 to 64 letters, digits and . _ - /; it is ${JSON.stringify(prefix)}.`,
    );
  }
  const requireReplicas = wholeNumber('requireReplicas', options.requireReplicas ?? 0, 0, 100);
  if (requireReplicas > 0 && connection.wait === null) {
    throw new OptionsError(
      'requireReplicas needs a client whose connection is known: a pool or a sentinel of node-redis sends WAIT over another ' +
        'one than the write. Pass createClient, createCluster, or ioredis.',
    );
  }
  if (now !== undefined && typeof now !== 'function') {
    throw new OptionsError(`now must be a function; it is ${typeof now}.`);
  }
  return {
    connection,
    durability,
    prefix,
    shards: wholeNumber('shards', options.shards ?? 64, 1, 1_024),
    requireReplicas,
    waitTimeMaxMs: wholeNumber('waitTimeMaxMs', options.waitTimeMaxMs ?? 1_000, 1, 600_000),
    now,
  };
}
