/**
 * One record looked at whole, its messages by an index: dead letters have one. Only a record whose work is with a
 * worker can have a message in the queue, and for that alone the queue is read.
 */

import type { RecordId, Store } from 'samekey';
import { createOperator, type MessageQueue, type WholeRecord } from 'samekey/operator';
import { isHandedOver } from 'samekey/internals/core/record';
import type { StoreOfConsole } from './overview.ts';

/** Looks at it; null: there is none. Throws `StoreError`. */
export async function lookGently(store: StoreOfConsole, id: RecordId): Promise<WholeRecord | null> {
  const { messages } = store;
  let isQueued = false;
  const parts: Partial<StoreOfConsole> = {
    async find(ids) {
      const records = await store.find(ids);
      isQueued = records.some((record) => record !== null && isHandedOver(record));
      return records;
    },
    audit: (request) => store.audit(request),
    ...(messages !== undefined && { messages: onlyDead(messages, () => !isQueued) }),
  };
  return createOperator({ store: parts as Store, actor: null }).find(id);
}

function onlyDead(messages: MessageQueue, isOnly: () => boolean): MessageQueue {
  const parts: Partial<MessageQueue> = {
    list: (request) => messages.list(isOnly() ? { ...request, states: ['dead'] } : request),
  };
  return parts as MessageQueue;
}
