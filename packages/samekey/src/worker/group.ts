/**
 * Groups concurrent calls of one verb: what comes in while a flush is under way goes with the next one. An idle group
 * adds no delay beyond the turn's end.
 */

import { isStoreError } from '../core/errors.ts';
import type { World } from '../core/world.ts';
import { soon } from '../lifecycle/bounded-wait.ts';

/** Sends one request, together with others. Rejects with what the flush rejected with. */
export type Submit<Request, Result> = (request: Request) => Promise<Result>;

interface Item<Request, Result> {
  readonly request: Request;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** Makes a group. */
export function createGroup<Request, Result>(
  world: Pick<World, 'soon' | 'setTimer'>,
  send: (requests: readonly Request[]) => Promise<readonly Result[]>,
  rowsMax = 500,
): Submit<Request, Result> {
  let queue: Item<Request, Result>[] = [];
  let flushing = false;

  async function flushAll(): Promise<void> {
    // Whatever ends in this turn goes together.
    await soon(world);
    while (queue.length > 0) {
      const items = queue.slice(0, rowsMax);
      queue = queue.slice(items.length);
      await flush(items);
    }
    flushing = false;
  }

  async function flush(items: readonly Item<Request, Result>[]): Promise<void> {
    try {
      const results = await send(items.map(({ request }) => request));
      for (const [i, item] of items.entries()) item.resolve(results[i] as Result);
    } catch (error) {
      // A row that the store refuses for itself must not take its neighbours with it.
      if (items.length > 1 && isStoreError(error) && !error.transient) {
        for (const item of items) await flush([item]);
      } else {
        for (const item of items) item.reject(error);
      }
    }
  }

  return (request) =>
    new Promise((resolve, reject) => {
      queue.push({ request, resolve, reject });
      if (flushing) return;
      flushing = true;
      void flushAll();
    });
}
