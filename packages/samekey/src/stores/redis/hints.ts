/**
 * Hints by Pub/Sub, for requests that wait for an attempt of another process. Who waits says so on one channel, who finishes then says that
 * something has changed; nobody waits, nothing is said.
 *
 * Invariants: a hint is never the word of the store, it makes somebody read · nothing here throws or is waited for: what is lost costs a
 * waiter its next look · who finishes must listen too, or it does not hear that somebody waits.
 * Source: https://redis.io/docs/latest/develop/interact/pubsub/.
 */

import type { RecordId } from '../../core/record.ts';
import type { ChangeHints } from '../../core/store.ts';
import type { Keys } from './keys.ts';
import type { Connection } from './redis-client.ts';
import type { Subscriber } from './subscriber.ts';

/** Records that others wait for, as far as they are remembered; the oldest are forgotten first. */
const ASKED_MAX = 10_000;
/** Records of one message. */
const IDS_MAX = 100;
const [WAITS, CHANGED] = ['w', 'c'] as const;

/** Hints that listen until they are closed. */
export interface RedisHints extends ChangeHints {
  start(): Promise<void>;
  close(): void;
}

/** Makes them; nothing is subscribed to before `start`. */
export function createHints(connection: Connection, subscriber: Subscriber, keys: Keys): RedisHints {
  const watched = new Map<string, Set<() => void>>();
  const asked = new Set<string>();
  const unsaid = { [WAITS]: new Set<string>(), [CHANGED]: new Set<string>() };
  let isSaying = false;
  let leave: (() => Promise<void>) | undefined;

  function heard(message: string): void {
    const [kind, ...ids] = message.split(',');
    for (const id of ids) {
      asked.delete(id);
      if (kind === CHANGED) for (const changed of watched.get(id) ?? []) changed();
      else asked.add(id);
      const [oldest] = asked;
      if (asked.size > ASKED_MAX && oldest !== undefined) asked.delete(oldest);
    }
  }

  function say(kind: typeof WAITS | typeof CHANGED, id: string): void {
    if (leave === undefined) return;
    unsaid[kind].add(id);
    if (isSaying) return;
    isSaying = true;
    // With the turn's end, so that what changed together is told together.
    queueMicrotask(() => void sayAll());
  }

  async function sayAll(): Promise<void> {
    for (let kind = next(); kind !== undefined; kind = next()) {
      const ids = [...unsaid[kind]].slice(0, IDS_MAX);
      for (const id of ids) unsaid[kind].delete(id);
      // What cannot be said is lost.
      await connection
        .send(keys.meta, 'PUBLISH', [keys.hints, `${kind},${ids.join(',')}`])
        .catch(() => undefined);
    }
    isSaying = false;
  }

  function next(): typeof WAITS | typeof CHANGED | undefined {
    return [CHANGED, WAITS].find((kind) => unsaid[kind].size > 0);
  }

  return {
    async start() {
      leave ??= await subscriber.subscribe(keys.hints, heard);
    },
    watch(record, changed) {
      const { id } = keys.of(record);
      const listeners = watched.get(id) ?? new Set();
      watched.set(id, listeners.add(changed));
      say(WAITS, id);
      return () => {
        listeners.delete(changed);
        if (listeners.size === 0) watched.delete(id);
      };
    },
    changed(record: RecordId) {
      const { id } = keys.of(record);
      if (asked.delete(id)) say(CHANGED, id);
    },
    close() {
      // Not waited for: a client that has lost its server answers nothing.
      void leave?.().catch(() => undefined);
      leave = undefined;
    },
  };
}
