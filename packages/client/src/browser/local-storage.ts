/**
 * `localStoragePending`: small and everywhere in browsers. It has no compare-and-set of its own, so it borrows Web
 * Locks, and is refused where there are none (pages that are not secure contexts).
 *
 * Weaker than IndexedDB: a browser may show another tab's write a moment late. The client therefore looks again under
 * the lock of the operation, which the first tab holds while its request is under way.
 */

import { OptionsError } from '../client-error.ts';
import type { PendingStore } from '../pending.ts';

const PREFIX = 'samekey:';

/** Keeps pending operations in `localStorage`. Throws `OptionsError` without `localStorage` or Web Locks. */
export function localStoragePending(): PendingStore {
  const storage = storageOf();
  const locks = (globalThis as Partial<typeof globalThis>).navigator?.locks;
  if (storage === undefined || locks === undefined) {
    throw new OptionsError('localStorage or Web Locks are missing here: use another store.');
  }
  return {
    read: async (name) => storage.getItem(PREFIX + name),
    swap: (name, expected, next) =>
      // Not of the space of operations: one may have any name, and holds its own lock meanwhile.
      locks.request('samekey-swap', () => {
        if (storage.getItem(PREFIX + name) !== expected) return false;
        if (next === null) storage.removeItem(PREFIX + name);
        else storage.setItem(PREFIX + name, next);
        return true;
      }),
    rows: async (prefix) =>
      Object.entries(storage).flatMap(([name, text]) =>
        name.startsWith(PREFIX + prefix) ? [[name.slice(PREFIX.length), String(text)] as const] : [],
      ),
  };
}

/** A sandboxed frame throws where it is only looked at. */
function storageOf(): Storage | undefined {
  try {
    return (globalThis as Partial<typeof globalThis>).localStorage;
  } catch {
    return undefined;
  }
}
