/**
 * One round of the sweeper, in a janitor or beside a worker's messages: ends what is over, batch after batch, and puts
 * groups of messages right. Nothing here knows of others: however many sweep, the store gives each record to one.
 */

import type { MessageStore } from '../store/message.ts';
import type { Store } from '../store/store.ts';
import type { SweeperEvent } from './janitor-events.ts';

/** What a sweeper works with. */
interface SweeperOptions {
  readonly store: Pick<Store, 'sweep'>;
  /** Null: the store keeps none. */
  readonly messages: Pick<MessageStore, 'tidy'> | null;
  readonly batchSizeMax: number;
  readonly unknownMaxMs: number;
  readonly emit: (event: SweeperEvent) => void;
}

/** Batches of one round at most; the next round goes on. */
const BATCHES_MAX = 1_000;

/**
 * Makes it: each call is one round, which ends early when it is told to. Returns how many records; throws `StoreError`.
 */
export function createSweeper(options: SweeperOptions): (isStopping: () => boolean) => Promise<number> {
  const { store, messages, batchSizeMax, unknownMaxMs, emit } = options;
  return async (isStopping) => {
    let count = 0;
    for (let batch = 0; batch < BATCHES_MAX && !isStopping(); batch += 1) {
      const swept = await store.sweep(batchSizeMax, { unknownMaxMs });
      count += swept.length;
      for (const { scope, key, operation, attempt, from, to, reason, ageMs } of swept) {
        const id = { scope, key };
        emit({ type: 'swept-record', id, operation, attempt, from, to, reason, ageMs });
      }
      if (swept.length < batchSizeMax) break;
    }
    if (!isStopping()) await messages?.tidy();
    return count;
  };
}
