/**
 * Messages whose payloads and headers are sealed. Topic, group, times, errors and the provider's id stay clear.
 *
 * Invariant: a message that cannot be opened is not delivered: it is handed back as if it had not been taken, and comes
 * again later.
 */

import type {
  DeadRequest,
  DoneRequest,
  MessageStore,
  NoteRequest,
  StoredMessage,
  TakenMessage,
} from '../store/message.ts';
import { after, all, type Maybe } from './maybe.ts';
import { sealAnswer, type Sealer } from './sealer.ts';
import type { UnreadableFound } from './unreadable.ts';

/** How long a message that could not be opened is left alone, in milliseconds. */
const HAND_BACK_MS = 60_000;

/** Seals the messages of a store. */
export function sealedMessages(
  messages: MessageStore,
  sealer: Sealer,
  tell: (found: UnreadableFound) => void,
): MessageStore {
  function open<Message extends StoredMessage>(message: Message): Maybe<Message> {
    return after(sealer.openMessage(message), (opened) => {
      if (opened.unreadable !== undefined) {
        tell({ id: null, operation: opened.topic, messageId: opened.id, ...opened.unreadable });
      }
      return opened;
    });
  }

  /** A record that ends with its message. */
  function sealRecord<Request extends DoneRequest | DeadRequest>(request: Request): Maybe<Request> {
    const { record } = request;
    return record === null
      ? request
      : after(sealAnswer(sealer, record), (made) => ({ ...request, record: made }));
  }

  /** The provider's id stands in the message, and its digest among the references. */
  function sealNote(request: NoteRequest): Maybe<NoteRequest> {
    const { reference } = request;
    if (reference === undefined) return request;
    return after(sealer.reference(reference), (kept) => ({ ...request, reference: kept }));
  }

  return {
    ...messages,
    enqueue: async (news) => messages.enqueue(await all(news.map((message) => sealer.message(message)))),
    async take(request) {
      const result = await messages.take(request);
      const taken = await all(result.taken.map(open));
      const closed = taken.filter(isClosed);
      if (closed.length === 0) return { ...result, taken };
      await messages.retry(
        closed.map(({ id, place, leaseId, started }) => {
          const lease = { id, place, leaseId, started };
          return { ...lease, delayMs: HAND_BACK_MS, error: null, proven: false, begun: false };
        }),
      );
      return { ...result, taken: taken.filter((message) => !isClosed(message)) };
    },
    done: async (requests) => messages.done(await all(requests.map(sealRecord))),
    dead: async (requests) => messages.dead(await all(requests.map(sealRecord))),
    note: async (requests) => messages.note(await all(requests.map(sealNote))),
    list: async (request) => all((await messages.list(request)).map(open)),
  };
}

/** To write off what has had all its deliveries, nobody needs to read it. */
function isClosed({ unreadable, exhausted }: TakenMessage): boolean {
  return unreadable !== undefined && !exhausted;
}
