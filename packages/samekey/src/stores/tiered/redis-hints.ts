/**
 * Hints by PUBLISH and SUBSCRIBE (`store/hint-channel.ts`), for stores that have none of their own: requests that wait
 * (`waitMaxMs`) look when the record may have changed, and not with their next look. Nothing is published unless
 * somebody waits.
 *
 * Invariants: a hint decides nothing: who gets one reads · nothing throws, nothing is awaited by a request · both
 * clients stay the user's.
 */

import { OptionsError } from '../../core/errors.ts';
import { createHintChannel } from '../../store/hint-channel.ts';
import { anything, readOptions, required, type Table, text } from '../../core/options.ts';
import type { ChangeHints } from '../../store/store.ts';
import { openConnection, type RedisClient } from '../redis/client.ts';

/** A client that only listens: of ioredis, or of node-redis (`client.duplicate()`, connected). */
export interface RedisSubscriber {
  /** `never`, because they take other arguments: what it is tells which. */
  subscribe(...args: never[]): Promise<unknown>;
  on(event: never, listener: never): unknown;
}

/** Options of {@link redisHints}. */
export interface RedisHintsOptions {
  /** Publishes; the client of the cache will do. */
  readonly client: RedisClient;
  /**
   * A connection of its own: one that has subscribed can do nothing else. It stays yours; give it an `error` listener.
   */
  readonly subscriber: RedisSubscriber;
  /** The channel; default `samekey-hints`. One for each store. */
  readonly channel?: string;
}

const ROWS = {
  client: required(anything<RedisClient>()),
  subscriber: required(anything<RedisSubscriber>()),
  channel: text('samekey-hints'),
} satisfies Table<RedisHintsOptions>;

/**
 * Makes the hints of one process, and subscribes in the background; again after each loss, as the client does. Throws
 * `OptionsError`.
 */
export function redisHints(options: RedisHintsOptions): ChangeHints {
  const { channel, client, subscriber } = readOptions('redisHints', ROWS, options);
  const connection = openConnection(client);
  const hints = createHintChannel((payload) => connection.send(channel, 'PUBLISH', [channel, payload]));
  listen(subscriber, channel, {
    heard: (payload) => hints.heard(payload),
    opened: () => hints.opened(),
    closed: () => hints.closed(),
  });
  return {
    watch: (id, changed) => hints.watch(id, changed),
    changed: (id) => hints.changed(id),
  };
}

interface Listening {
  heard(payload: string): void;
  opened(): void;
  closed(): void;
}

type On = (event: string, listener: (...args: unknown[]) => void) => unknown;

/**
 * ioredis tells of messages by an event, node-redis calls what it was given; both subscribe again by themselves after a
 * loss.
 */
function listen(subscriber: RedisSubscriber, channel: string, listening: Listening): void {
  const found = subscriber as Partial<RedisSubscriber> | null | undefined;
  if (typeof found?.subscribe !== 'function' || typeof found.on !== 'function') {
    throw new OptionsError('subscriber must be a client of ioredis or node-redis, for hints alone.');
  }
  const on: On = (event, listener) => subscriber.on(event as never, listener as never);
  const isIoRedis = 'callBuffer' in subscriber;
  const heard = (payload: unknown): void => {
    if (typeof payload === 'string') listening.heard(payload);
  };
  if (isIoRedis) on('message', (from, payload) => void (from === channel && heard(payload)));
  let isSubscribed = false;
  const args = isIoRedis ? [channel] : [channel, heard];
  subscriber.subscribe(...(args as never[])).then(
    () => {
      isSubscribed = true;
      listening.opened();
    },
    // It was closed before: there are no hints.
    () => undefined,
  );
  on(isIoRedis ? 'close' : 'reconnecting', () => listening.closed());
  on('ready', () => {
    if (isSubscribed) listening.opened();
  });
}
