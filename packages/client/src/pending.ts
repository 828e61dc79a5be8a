/**
 * Pending-key stores: where an operation's key and request are kept from before the first byte is sent until it is
 * settled, so that a reload, a crash or another tab goes on under the same key (F23).
 *
 * Invariants: `swap` is atomic among everyone who shares the store, and durable when it resolves · a store knows
 * nothing of what the texts mean · what cannot be kept is not sent: a store that fails rejects.
 */

/** A map from names to texts with compare-and-set. Bring your own with these three verbs. */
export interface PendingStore {
  /** The text under a name, or null. */
  read(name: string): Promise<string | null>;
  /**
   * Writes `next` (null: deletes) only if the text is still `expected` (null: absent). False: it did not, or another
   * writer has replaced it since.
   */
  swap(name: string, expected: string | null, next: string | null): Promise<boolean>;
  /** All names, in any order. */
  names(): Promise<readonly string[]>;
}

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
    names: async () => [...texts.keys()],
  };
}
