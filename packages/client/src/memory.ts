/** `@samekey/client/memory`: nothing outlives the page or the process. */

import type { PendingStore } from './pending.ts';

/** Keeps nothing longer than the process or the page: for tests, and for operations that end with it. */
export function memoryPending(): PendingStore {
  const texts = new Map<string, string>();
  return {
    read: async (name) => texts.get(name) ?? null,
    async swap(name, expected, next) {
      if ((texts.get(name) ?? null) !== expected) return false;
      if (next === null) texts.delete(name);
      else texts.set(name, next);
      return true;
    },
    rows: async (prefix) => [...texts].filter(([name]) => name.startsWith(prefix)),
  };
}
