/**
 * `indexedDbPending`: for browsers and workers. Compare and set happen in one read-write transaction, which the browser
 * runs alone among all tabs and workers of the origin; it is asked to be on disk before it counts.
 */

/* oxlint-disable unicorn/prefer-add-event-listener -- every object here is ours, has one listener, and bytes count */

import { OptionsError } from '../client-error.ts';
import type { PendingStore } from '../pending.ts';

const TABLE = 'pending';

/**
 * Keeps pending operations in an IndexedDB database of its own (`name`, default `samekey`). Throws `OptionsError`
 * without IndexedDB.
 */
export function indexedDbPending(name = 'samekey'): PendingStore {
  const { indexedDB } = globalThis as Partial<typeof globalThis>;
  if (indexedDB === undefined) throw new OptionsError('IndexedDB is missing here: use another store.');
  let opened: Promise<IDBDatabase> | null = null;

  const open = (): Promise<IDBDatabase> => {
    opened ??= new Promise<IDBDatabase>((resolve, reject) => {
      const request = indexedDB.open(name, 1);
      request.onupgradeneeded = () => void request.result.createObjectStore(TABLE);
      request.onerror = () => reject(request.error);
      request.onsuccess = () => {
        const database = request.result;
        // The browser may close it under pressure, and another version of this code may want to change it.
        database.onclose = () => (opened = null);
        database.onversionchange = () => {
          opened = null;
          database.close();
        };
        resolve(database);
      };
    }).catch((error: unknown) => {
      opened = null;
      throw error;
    });
    return opened;
  };

  async function within<Value>(
    mode: IDBTransactionMode,
    body: (table: IDBObjectStore, give: (value: Value) => void) => void,
  ): Promise<Value> {
    const begin = async (connection: Promise<IDBDatabase>): Promise<IDBTransaction> =>
      (await connection).transaction(TABLE, mode, { durability: 'strict' });
    const connection = open();
    // It may be lost without an event: then there is another one, for all who find it so.
    const transaction = await begin(connection).catch(() => {
      if (opened === connection) opened = null;
      return begin(open());
    });
    return new Promise((resolve, reject) => {
      let given: Value;
      transaction.oncomplete = () => resolve(given);
      transaction.onabort = () => reject(transaction.error ?? new Error('IndexedDB failed.'));
      body(transaction.objectStore(TABLE), (value) => (given = value));
    });
  }

  return {
    read: (key) =>
      within<string | null>('readonly', (table, give) => {
        take(table.get(key), (text) => give((text as string | undefined) ?? null));
      }),
    swap: (key, expected, next) =>
      within<boolean>('readwrite', (table, give) => {
        take(table.get(key), (text) => {
          const isSame = ((text as string | undefined) ?? null) === expected;
          give(isSame);
          if (isSame) void (next === null ? table.delete(key) : table.put(next, key));
        });
      }),
    rows: (prefix) =>
      within<[string, string][]>('readonly', (table, give) => {
        const range = IDBKeyRange.bound(prefix, `${prefix}\uffff`);
        take(table.getAllKeys(range), (keys) =>
          take(table.getAll(range), (texts) =>
            give(keys.map((key, at) => [key as string, String(texts[at])])),
          ),
        );
      }),
  };
}

function take<Value>(request: IDBRequest<Value>, then: (value: Value) => void): void {
  request.onsuccess = () => then(request.result);
}
