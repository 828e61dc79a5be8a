/**
 * Time in DynamoDB, which tells none (semantics §3). What is written goes by the wall clock, but never before a time that all
 * processes share: one item, read at most once a second by each process and moved on only when it is behind. So a process
 * whose clock is behind writes no record that is born expired; one far ahead makes records expire early, never ends a claim.
 * Claims, leases and pauses after a reopen end by watching only (`view.ts`).
 */

import type { Calls } from './calls.ts';
import type { AttributeValue, Item } from './dynamodb-client.ts';

/** The store's `now`, in whole milliseconds since 1970. */
export interface StoreClock {
  now(): Promise<number>;
}

/** How long what was read is carried on by this process's monotonic clock; the shared time may be behind by as much. */
export const TRUST_MS = 1_000;
const KEY: Item = { pk: { S: 'm' }, sk: { S: 'clock' } };

/** Makes it. */
export function createStoreClock(
  calls: Calls,
  wallNow: () => number,
  monotonicNow: () => number,
): StoreClock {
  /** `at`: when `time` was so; `readAt`: when the shared time was asked for. */
  let base: { readonly time: number; readonly at: number; readonly readAt: number } | undefined;
  let reading: Promise<void> | undefined;

  const local = (): number =>
    Math.max(
      Math.floor(wallNow()),
      base === undefined ? 0 : Math.floor(base.time + monotonicNow() - base.at),
    );

  async function read(): Promise<void> {
    const readAt = monotonicNow();
    const found = (await calls.read('getItem', { Key: KEY, ConsistentRead: true })) as { Item?: Item };
    const shared = Number((found.Item?.['last_now'] as { N?: string } | undefined)?.N ?? 0);
    // Of one moment, the one after the answer: taken from before, its slowness would be added to the time, again with every reading.
    const at = monotonicNow();
    const time = Math.max(local(), shared);
    // Behind by less is no harm, and no write of every process in every second.
    if (time - shared >= TRUST_MS) {
      const values: Item = { ':time': { N: String(time) } satisfies AttributeValue };
      await calls.write('updateItem', {
        Key: KEY,
        UpdateExpression: 'SET last_now = :time',
        ConditionExpression: 'attribute_not_exists(last_now) OR last_now < :time',
        ExpressionAttributeValues: values,
      });
    }
    base = { time, at, readAt };
  }

  return {
    async now() {
      const isFresh = base !== undefined && monotonicNow() - base.readAt < TRUST_MS;
      if (!isFresh) {
        reading ??= read().finally(() => {
          reading = undefined;
        });
        await reading;
      }
      return local();
    },
  };
}
