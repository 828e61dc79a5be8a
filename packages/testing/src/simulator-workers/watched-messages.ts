/**
 * The store as the auditor of background work sees it: every message and every record that a call changed is told, with what stood before.
 *
 * Invariant: the store is in memory, so a call and the looks before and after it happen within one turn. What stands there before a call and was
 * not there after the last one, a transaction has committed.
 */

import type { StoredMessage } from 'samekey/internals/store/message';
import { idText, type SamekeyRecord } from 'samekey/internals/core/record';
import type { MemoryStore } from 'samekey/internals/stores/memory/index';

/** Everything in the store at one moment. */
export interface Snapshot {
  readonly messages: ReadonlyMap<string, StoredMessage>;
  readonly records: ReadonlyMap<string, SamekeyRecord>;
}

/** A call, or what transactions have committed since the last one (`commit`). */
export interface Change {
  readonly verb: string;
  /** What was asked for. */
  readonly requests: readonly unknown[];
  readonly before: Snapshot;
  readonly after: Snapshot;
  /** The store's time. */
  readonly now: number;
}

/** Messages and records of one history at most. */
const LIMIT = 1_000;

/** Puts the auditor behind the store. */
export function watchMessages(
  store: MemoryStore,
  storeNow: () => number,
  changed: (change: Change) => void,
): MemoryStore {
  let last: Snapshot = { messages: new Map(), records: new Map() };

  async function look(): Promise<Snapshot> {
    const [messages, records] = await Promise.all([
      store.messages.list({ limit: LIMIT }),
      store.list({ limit: LIMIT }),
    ]);
    return {
      messages: new Map(messages.map((message) => [message.id, message])),
      records: new Map(records.map((record) => [idText(record), record])),
    };
  }

  function watched<Args extends readonly unknown[], Result>(
    verb: string,
    call: (...args: Args) => Promise<Result>,
  ): (...args: Args) => Promise<Result> {
    return async (...args) => {
      const looked = look();
      const calling = call(...args);
      const lookedAgain = look();
      const now = storeNow();
      const [before, after] = [await looked, await lookedAgain];
      changed({ verb: 'commit', requests: [], before: last, after: before, now });
      changed({ verb, requests: Array.isArray(args[0]) ? args[0] : [args[0]], before, after, now });
      last = after;
      return calling;
    };
  }

  const { messages } = store;
  return {
    ...store,
    claim: watched('claim', (requests) => store.claim(requests)),
    renew: watched('renew', (requests) => store.renew(requests)),
    checkpoint: watched('checkpoint', (requests) => store.checkpoint(requests)),
    finish: watched('finish', (requests) => store.finish(requests)),
    settle: watched('settle', (requests) => store.settle(requests)),
    reopen: watched('reopen', (requests) => store.reopen(requests)),
    takeUnknown: watched('takeUnknown', (request) => store.takeUnknown(request)),
    postpone: watched('postpone', (requests) => store.postpone(requests)),
    sweep: watched('sweep', (most, until) => store.sweep(most, until)),
    messages: {
      ...messages,
      enqueue: watched('enqueue', (all) => messages.enqueue(all)),
      take: watched('take', (request) => messages.take(request)),
      extend: watched('extend', (leases, ms) => messages.extend(leases, ms)),
      done: watched('done', (requests) => messages.done(requests)),
      retry: watched('retry', (requests) => messages.retry(requests)),
      dead: watched('dead', (requests) => messages.dead(requests)),
      note: watched('note', (requests) => messages.note(requests)),
      requeue: watched('requeue', (ids, by) => messages.requeue(ids, by)),
      drop: watched('drop', (ids, by) => messages.drop(ids, by)),
    },
  };
}
