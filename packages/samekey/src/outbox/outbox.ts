/**
 * The outbox: messages that are committed with your own writes and delivered later by a worker, at least once and under
 * a key that stays the same. If the transaction rolls back, there was no message; if it commits, none is lost.
 *
 * Invariant: nothing is sent from here. What stands in the table is all there is.
 */

import type { ByHand } from '../store/audit.ts';
import { enrolledWithin } from '../ways/enrolled.ts';
import { OptionsError } from '../core/errors.ts';
import type { MessageCount, MessageListRequest, MessageStore, StoredMessage } from '../store/message.ts';
import { newMessage, type OutboxMessage } from '../store/new-message.ts';
import { anything, having, readOptions, required, type Table } from '../core/options.ts';
import type { Store } from '../store/store.ts';
import type { TransactionalStore, Within } from '../store/transaction.ts';
import type { World } from '../core/world.ts';
import { systemWorld } from '../system.ts';

/** Options of {@link createOutbox}. */
export interface OutboxOptions {
  /** A store that keeps messages: `postgresStore(…)`, `mysqlStore(…)`, `sqliteStore(…)` or `memoryStore()`. */
  readonly store: Store;
  /** The machine; default `systemWorld()`. For tests. */
  readonly world?: World;
}

/** A message that was given up. */
export interface DeadLetter {
  readonly id: string;
  readonly topic: string;
  readonly group: string | null;
  readonly payload: unknown;
  readonly createdAt: number;
  readonly diedAt: number;
  /** Deliveries begun, ended, and proven without effect. */
  readonly started: number;
  readonly finished: number;
  readonly proven: number;
  readonly lastError: string | null;
  readonly providerId: string | null;
  /** For paging: `deadLetters({ after: place })`. */
  readonly place: number;
}

/** An outbox. */
export interface Outbox {
  /**
   * Puts a message into an open transaction and gives its id. `tx` is your own: what a transactional or phased handler
   * got, a client of pg between BEGIN and COMMIT, the `sql` of `sql.begin`, or what `transaction` of the SQLite and the
   * memory store passes. Throws `OptionsError` for a bad message, `StoreError` when `tx` is not a transaction.
   */
  enqueue(tx: unknown, message: OutboxMessage): Promise<string>;
  /** The same for many, in one statement. */
  enqueueAll(tx: unknown, messages: readonly OutboxMessage[]): Promise<readonly string[]>;
  /** Puts a message in by itself: for work that belongs to no transaction. */
  enqueueAlone(message: OutboxMessage): Promise<string>;
  /** Dead letters, the oldest first. */
  deadLetters(request?: Omit<MessageListRequest, 'states'>): Promise<readonly DeadLetter[]>;
  /**
   * Delivers dead letters again, under the same downstream key; gives the ids of those that are. Not delivered: what is
   * no dead letter, and the work of a request that was decided or answered since, or is gone. `reason` and `actor` go
   * to the audit. Throws `StoreError` without a reason.
   */
  requeue(ids: readonly string[], by: ByHand): Promise<readonly string[]>;
  /** Deletes dead letters; gives the ids of those that were. As `requeue`, each with its row in the audit. */
  drop(ids: readonly string[], by: ByHand): Promise<readonly string[]>;
  /** How many messages there are, by topic and state. Reads the whole table. */
  count(): Promise<readonly MessageCount[]>;
}

const ROWS = {
  store: required(anything<Store>()),
  world: having<World>(['newClaimId'], 'a world: systemWorld(), or one for tests'),
} satisfies Table<OutboxOptions>;

/** Makes an outbox. Throws `OptionsError` for a store without messages. */
export function createOutbox(options: OutboxOptions): Outbox {
  const { store, ...own } = readOptions('createOutbox', ROWS, options);
  const world = own.world ?? systemWorld();
  const messages = messagesOf(store);

  function within(tx: unknown): Within {
    return enrolledWithin(tx) ?? (store as Store & TransactionalStore).within(tx);
  }

  async function enqueueAll(tx: unknown, all: readonly OutboxMessage[]): Promise<readonly string[]> {
    const made = all.map((message) => newMessage(world, message));
    if (made.length > 0) await within(tx).enqueue(made);
    return made.map(({ id }) => id);
  }

  return Object.freeze<Outbox>({
    async enqueue(tx, message) {
      const made = newMessage(world, message);
      await within(tx).enqueue([made]);
      return made.id;
    },
    enqueueAll,
    async enqueueAlone(message) {
      const made = newMessage(world, message);
      await messages.enqueue([made]);
      return made.id;
    },
    deadLetters: async (request = {}) =>
      (await messages.list({ ...request, states: ['dead'] })).map(deadLetter),
    requeue: (ids, by) => messages.requeue(ids, by),
    drop: (ids, by) => messages.drop(ids, by),
    count: () => messages.count(),
  });
}

/** The messages of a store. Throws `OptionsError` when it has none. */
export function messagesOf(store: Store | undefined): MessageStore {
  const { messages } = (store ?? {}) as { readonly messages?: MessageStore };
  if (messages !== undefined) return messages;
  throw new OptionsError(
    `The outbox needs a store that keeps messages, in your own database: postgresStore, mysqlStore or sqliteStore, or memoryStore in tests; this is ${store?.name ?? 'none'}.`,
  );
}

function deadLetter(message: StoredMessage): DeadLetter {
  const { id, topic, group, createdAt, started, finished, proven, lastError, providerId, place } = message;
  const payload: unknown = JSON.parse(message.payload);
  const diedAt = message.dueAt;
  return {
    id,
    topic,
    group,
    payload,
    createdAt,
    diedAt,
    started,
    finished,
    proven,
    lastError,
    providerId,
    place,
  };
}
