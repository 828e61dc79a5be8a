/** What tests of sealed stores begin with: a file and stores on it, an engine, requests. */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach } from 'vitest';
import { type ClaimRequest, type Store } from '../../src/store/store.ts';
import { createSamekey, type Samekey, type SamekeyEvent } from '../../src/index.ts';
import { type SqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts';
import { claimRequest } from '../../../testing/src/contract/context.ts';
import { availableClients, type OpenDatabase, temporaryFile } from '../stores/sqlite-clients.ts';

export const SCOPE = ['tenant-1'];
const cleanups: (() => unknown)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).toReversed()) cleanup();
});

/** An SQLite file, and stores on it. */
export async function database(): Promise<{ db: OpenDatabase; clear: SqliteStore; bytes: () => string }> {
  const [client] = availableClients();
  if (client === undefined) throw new Error('no SQLite client');
  const file = temporaryFile();
  cleanups.push(() => file.remove());
  const db = client.open(file.path);
  cleanups.push(() => db.close());
  const clear = sqliteStore({ service: 'test', database: db });
  await clear.migrate();
  return {
    db,
    clear,
    // The file and its log, whole.
    bytes: () =>
      readdirSync(dirname(file.path))
        .map((name) => readFileSync(join(dirname(file.path), name), 'latin1'))
        .join('\n'),
  };
}

/** An engine over a store. */
export function instance(store: Store, onEvent?: (event: SamekeyEvent) => void): Samekey {
  return createSamekey({
    store,
    policy: 'payments',
    ...(onEvent && { onEvent }),
  });
}

/** A request that bears its key's name. */
export function request(key: string) {
  return { operation: 'pay', scope: SCOPE, key, fingerprint: 'same' };
}

/** A request that is only noted, for a worker. */
export function accept(key: string): ClaimRequest {
  return claimRequest({ key, entry: 'accept', input: Uint8Array.of(1), pendingTimeMaxMs: 60_000 });
}
