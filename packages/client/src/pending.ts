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
  /** Names that begin with `prefix`, and their texts, in any order. */
  rows(prefix: string): Promise<readonly (readonly [name: string, text: string])[]>;
}

/** The part of a store that is one user's. */
export type OwnRows = Pick<PendingStore, 'read' | 'swap'> & {
  rows(): ReturnType<PendingStore['rows']>;
};

/** Another user's rows have other names; of a user they tell the digest alone. */
export function ownRows(store: PendingStore, subject: Promise<string>): OwnRows {
  return {
    read: async (name) => store.read((await subject) + name),
    swap: async (name, expected, next) => store.swap((await subject) + name, expected, next),
    async rows() {
      const prefix = await subject;
      return (await store.rows(prefix)).map(([name, text]) => [name.slice(prefix.length), text]);
    },
  };
}
