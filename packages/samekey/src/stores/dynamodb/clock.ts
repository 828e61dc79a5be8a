/**
 * Time in DynamoDB, which tells none (`store/time/shared-time.ts`): the shared time is one item, read at most once a
 * second by each process and moved on only when it is behind. Claims, leases and pauses after a reopen end by watching
 * only (`view.ts`).
 */

import { createSharedTime, type SharedTime, type SharedTimes } from '../../store/time/shared-time.ts';
import type { Calls } from './calls.ts';
import type { AttributeValue, Item } from './client.ts';

/** The store's time, in whole milliseconds since 1970. */
export interface StoreClock extends Pick<SharedTime, 'onOff'> {
  now(): Promise<number>;
  times(): Promise<SharedTimes>;
}

/** How long what was read is carried on by this process's monotonic clock; the shared time may be behind by as much. */
const TRUST_MS = 1_000;
const KEY: Item = { pk: { S: 'm' }, sk: { S: 'clock' } };

/** Makes it. */
export function createStoreClock(
  calls: Calls,
  wallNow: () => number,
  monotonicNow: () => number,
): StoreClock {
  const time = createSharedTime(wallNow, monotonicNow);
  let shared = 0;
  let readAt: number | undefined;
  let reading: Promise<void> | undefined;

  async function stored(): Promise<number> {
    const found = (await calls.read('getItem', { Key: KEY, ConsistentRead: true })) as { Item?: Item };
    return Number((found.Item?.['last_now'] as { N?: string } | undefined)?.N ?? 0);
  }

  /** Whether it was written; else somebody else has left a time there, or a later one. */
  async function store(now: number, condition: string): Promise<boolean> {
    const answer = await calls.write('updateItem', {
      Key: KEY,
      UpdateExpression: 'SET last_now = :time',
      ConditionExpression: condition,
      ExpressionAttributeValues: { ':time': { N: String(now) } satisfies AttributeValue },
    });
    return answer.kind === 'written';
  }

  async function read(): Promise<void> {
    const asked = monotonicNow();
    shared = await stored();
    const { now } = time.times(shared);
    if (shared === 0) shared = (await store(now, 'attribute_not_exists(last_now)')) ? now : await stored();
    // Behind by less is no harm, and no write of every process in every second.
    else if (now - shared >= TRUST_MS) await store(now, 'last_now < :time');
    readAt = asked;
  }

  async function times(): Promise<SharedTimes> {
    if (readAt === undefined || monotonicNow() - readAt >= TRUST_MS) {
      reading ??= read().finally(() => {
        reading = undefined;
      });
      await reading;
    }
    return time.times(shared);
  }

  return { times, now: async () => (await times()).now, onOff: (told) => time.onOff(told) };
}
