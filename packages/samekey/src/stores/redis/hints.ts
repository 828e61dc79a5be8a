/**
 * Hints by Pub/Sub (`store/hint-channel.ts`), for requests that wait for an attempt of another process.
 *
 * Invariant: who finishes must listen too, or it does not hear that somebody waits.
 * Source: https://redis.io/docs/latest/develop/interact/pubsub/.
 */

import { createHintChannel } from '../../store/hint-channel.ts';
import type { ChangeHints } from '../../store/store.ts';
import type { Keys } from './key-names.ts';
import type { Connection } from './client.ts';
import type { Subscriber } from './subscriber.ts';

/** Hints that listen until they are closed. */
interface RedisHints extends ChangeHints {
  start(): Promise<void>;
  close(): void;
}

/** Makes them; nothing is subscribed to before `start`. */
export function createHints(connection: Connection, subscriber: Subscriber, keys: Keys): RedisHints {
  const hints = createHintChannel((payload) => connection.send(keys.meta, 'PUBLISH', [keys.hints, payload]));
  let listening: Promise<() => Promise<void>> | undefined;

  return {
    watch: (id, changed) => hints.watch(id, changed),
    changed: (id) => hints.changed(id),
    async start() {
      const begun = listening ?? subscriber.subscribe(keys.hints, (message) => hints.heard(message));
      listening = begun;
      try {
        await begun;
      } catch (error) {
        listening = undefined;
        throw error;
      }
      hints.opened();
    },
    close() {
      hints.closed();
      // Not waited for: a client that has lost its server answers nothing.
      listening?.then((leave) => leave()).catch(() => undefined);
      listening = undefined;
    },
  };
}
