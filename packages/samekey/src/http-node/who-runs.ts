/**
 * Who runs behind a middleware and who in front of it, told by Node's asynchronous context. Code that has lost it (a
 * callback of a library that keeps none) counts as in front.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

const storage = new AsyncLocalStorage<object>();

/** Runs what stands behind `place`. */
export function runBehind<Returned>(place: object, fn: () => Returned): Returned {
  return storage.run(place, fn);
}

/** Whether the code that asks runs behind `place`. */
export function isBehind(place: object): boolean {
  return storage.getStore() === place;
}
