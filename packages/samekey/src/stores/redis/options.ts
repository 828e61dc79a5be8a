/** The Redis store's options, checked before anything is sent. */

import { OptionsError } from '../../core/errors.ts';
import { serviceRow } from '../../store/identity.ts';
import {
  aFunction,
  anything,
  oneOf,
  readOptions,
  required,
  row,
  shown,
  type Table,
  trueOrFalse,
  wholeNumber,
} from '../../core/options.ts';
import { type Connection, openConnection, type RedisClient } from './client.ts';
import { openSubscriber, type RedisSubscriber, type Subscriber } from './subscriber.ts';

/** What of an acknowledged record outlives what. */
export type Durability = 'always' | 'everysec' | 'none';

/** Options of `redisStore`. */
export interface RedisStoreOptions {
  /**
   * The service whose keys the store holds, such as `orders`: 1 to 48 letters, digits and . _ -. Each service has keys
   * of its own on one server.
   */
  readonly service: string;
  /**
   * A connected client of ioredis (`Redis`, `Cluster`) or node-redis (client, pool, cluster, sentinel), on which nobody
   * opens MULTI and nothing blocks: best one of its own. It stays the user's.
   */
  readonly client: RedisClient;
  /**
   * What the server is set to, as you know it; `ready()` checks it. `always`: `appendonly yes`, `appendfsync always`.
   * `everysec`: `appendfsync everysec`, so a power cut may take what was acknowledged in the last two seconds, and
   * those keys run again. `none`: no append-only file; after a restart keys act as fresh. No default.
   */
  readonly durability: Durability;
  /** What all keys begin with, inside the hash tag, before the service; default `samekey`. */
  readonly prefix?: string;
  /**
   * In how many parts records and their indexes lie, 1–1,024; default 64. Fixed with the first record. In a Cluster
   * each part is on one server.
   */
  readonly shards?: number;
  /**
   * How many replicas must have what an attempt writes (its claim, renewals, steps and end) before it is acknowledged
   * (`WAIT`); default 0. Fewer: the claim is undone and the request is answered 503. Only with every replica that may
   * be promoted does a fail-over lose nothing.
   */
  readonly requireReplicas?: number;
  /**
   * Whether the server, and as many replicas as are required, must have written it through to their disks too
   * (`WAITAOF`; Redis 7.2, Valkey, an append-only file on each); default false. With `appendfsync everysec` each write
   * then waits up to a second for its fsync.
   */
  readonly requireFsync?: boolean;
  /** How long they are waited for, in milliseconds; default 1,000. Less than `storeTimeMaxMs`. */
  readonly waitTimeMaxMs?: number;
  /**
   * A connected client of its own, as `client.duplicate()` makes one, by which processes tell each other that a record
   * changed which somebody waits for (Pub/Sub); default: who waits looks every 25 to 250 ms. Give one in each process:
   * who finishes must listen too.
   */
  readonly subscriber?: RedisSubscriber;
  /** Whether each change of a record's state leaves a row in the audit, in the script that makes it; default false. */
  readonly auditTransitions?: boolean;
  /** Test-only clock: milliseconds since 1970. Default: the server's. */
  readonly now?: () => number;
}

/** The options with their defaults filled in. */
export interface CheckedOptions {
  readonly service: string;
  readonly connection: Connection;
  readonly durability: Durability;
  readonly prefix: string;
  readonly shards: number;
  readonly requireReplicas: number;
  readonly requireFsync: boolean;
  readonly waitTimeMaxMs: number;
  readonly auditTransitions: boolean;
  readonly subscriber: Subscriber | undefined;
  readonly now: (() => number) | undefined;
}

const ROWS = {
  service: serviceRow({ anyService: false }),
  client: required(anything<RedisClient>()),
  durability: required(
    oneOf(['always', 'everysec', 'none']),
    'durability must be "always", "everysec" or "none", as the server is set; it has no default.',
  ),
  prefix: row((given, path) => {
    if (typeof given === 'string' && /^[\w.\-/]{1,64}$/.test(given)) return given;
    throw new OptionsError(`${path} must be 1 to 64 letters, digits and . _ - /; it is ${shown(given)}.`);
  }, 'samekey'),
  shards: wholeNumber(1, 1_024, 64),
  requireReplicas: wholeNumber(0, 100, 0),
  requireFsync: trueOrFalse(false),
  waitTimeMaxMs: wholeNumber(1, 600_000, 1_000),
  subscriber: anything<RedisSubscriber>(),
  auditTransitions: trueOrFalse(false),
  now: aFunction<() => number>(),
} satisfies Table<RedisStoreOptions>;

/** Fills in defaults. Throws `OptionsError` naming the option. */
export function checkOptions(options: RedisStoreOptions): CheckedOptions {
  const { client, subscriber, ...own } = readOptions('redisStore', ROWS, options);
  const { durability, requireReplicas, requireFsync } = own;
  const connection = openConnection(client);
  if (requireFsync && durability === 'none') {
    throw new OptionsError(
      'requireFsync needs an append-only file, and durability is declared as "none": set appendonly yes and declare it.',
    );
  }
  if ((requireReplicas > 0 || requireFsync) && connection.pin === null) {
    throw new OptionsError(
      'requireReplicas and requireFsync need a client whose connection is known: a pool or a sentinel of node-redis sends WAIT over another ' +
        'one than the write. Pass createClient, createCluster, or ioredis.',
    );
  }
  return {
    ...own,
    connection,
    subscriber: subscriber === undefined ? undefined : openSubscriber(subscriber),
  };
}
