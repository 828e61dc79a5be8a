/**
 * Calls to DynamoDB, each bounded in time and tries. Throttling is met with full jitter; whatever else fails is thrown
 * as `StoreError` that says whether the write may have been applied. A condition that does not hold is a value.
 */

import { isStoreError, StoreError } from '../../core/errors.ts';
import type { DynamoDbClient, Input, Item, OperationName, Output } from './client.ts';
import { conflictItem, isConflict, isThrottle, storeError } from './errors.ts';

/** The answer of a conditional write: `conflict` with the item that stood there, where the engine tells it. */
type Written = { readonly kind: 'written' } | { readonly kind: 'conflict'; readonly item: Item | undefined };

/** Calls on one table. */
export interface Calls {
  readonly table: string;
  read(operation: OperationName, input: Input): Promise<Output>;
  /** Nobody waits for it with a request in hand: without an answer it is asked again, five times at most. */
  readPatiently(operation: OperationName, input: Input): Promise<Output>;
  write(operation: 'putItem' | 'updateItem' | 'deleteItem', input: Input): Promise<Written>;
  /** A pause of random length that grows with the round, in bounds. */
  pause(round: number): Promise<void>;
}

interface CallsOptions {
  readonly client: DynamoDbClient;
  readonly table: string;
  readonly callTimeMaxMs: number;
  readonly random: () => number;
}

/** Tries of one call against throttling; with the pauses below about two seconds. */
const TRIES_MAX = 7;
const PAUSE_MIN_MS = 25;
const PAUSE_MAX_MS = 1_000;

/**
 * Times that a patient read is made: at its start a process makes its first call with everything else to do, and a page
 * of a scan is the more work lost the further it has come.
 */
const PATIENT_TRIES_MAX = 5;

/** Makes them. */
export function createCalls({ client, table, callTimeMaxMs, random }: CallsOptions): Calls {
  function pause(round: number): Promise<void> {
    const ms = random() * Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** Math.min(round, 10));
    return new Promise((resolve) => setTimeout(resolve, ms));
  }

  async function once(operation: OperationName, input: Input): Promise<Output> {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(Object.assign(new Error(`no answer within ${callTimeMaxMs} ms`), { name: 'TimeoutError' }));
        controller.abort();
      }, callTimeMaxMs);
    });
    try {
      const told = { abortSignal: controller.signal };
      const answer = client[operation]({ TableName: table, ...input } as never, told as never);
      return (await Promise.race([answer, late])) as Output;
    } finally {
      clearTimeout(timer);
    }
  }

  async function call(operation: OperationName, input: Input, isWrite: boolean): Promise<Output> {
    let mayHaveRun = false;
    for (let round = 0; ; round += 1) {
      try {
        return await once(operation, input);
      } catch (error) {
        if (isConflict(error)) throw error;
        // The SDK itself asks again: what it was told last says nothing of the tries before.
        const attempts = (error as { $metadata?: { attempts?: number } } | null)?.$metadata?.attempts ?? 1;
        mayHaveRun ||= attempts > 1;
        if (!isThrottle(error) || round + 1 >= TRIES_MAX) throw storeError(error, isWrite, mayHaveRun);
        await pause(round);
      }
    }
  }

  return {
    table,
    pause,
    read: (operation, input) => call(operation, input, false),
    async readPatiently(operation, input) {
      for (let tries = 1; ; tries += 1) {
        try {
          return await call(operation, input, false);
        } catch (error) {
          const isSilence =
            isStoreError(error) && (error.cause as Error | undefined)?.name === 'TimeoutError';
          if (!isSilence || tries === PATIENT_TRIES_MAX) throw error;
        }
      }
    },
    async write(operation, input) {
      try {
        await call(operation, input, true);
        return { kind: 'written' };
      } catch (error) {
        if (isConflict(error)) return { kind: 'conflict', item: conflictItem(error) };
        throw error;
      }
    },
  };
}

/**
 * Runs at most `atOnce` at a time; results in the order of the items. The first failure is thrown after those under way
 * have ended.
 */
export async function inParallel<T, R>(
  items: readonly T[],
  atOnce: number,
  one: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = Array.from({ length: items.length });
  const failures: unknown[] = [];
  let next = 0;
  async function lane(): Promise<void> {
    while (next < items.length && failures.length === 0) {
      const index = next;
      next += 1;
      try {
        results[index] = await one(items[index] as T, index);
      } catch (error) {
        failures.push(error);
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
  if (failures.length > 0) throw failures[0];
  return results;
}

/** The same for writes: one call stands for all of them, so it says `no` only if none of them can have been applied. */
export async function writeInParallel<T, R>(
  items: readonly T[],
  atOnce: number,
  one: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  let mayBeApplied = false;
  try {
    return await inParallel(items, atOnce, async (item, index) => {
      try {
        const result = await one(item, index);
        mayBeApplied = true;
        return result;
      } catch (error) {
        mayBeApplied ||= !isStoreError(error) || error.applied === 'unknown';
        throw error;
      }
    });
  } catch (error) {
    if (!mayBeApplied || !isStoreError(error)) throw error;
    const { message, transient, busy } = error;
    throw new StoreError(message, { applied: 'unknown', transient, busy, cause: error });
  }
}
