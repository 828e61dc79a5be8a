/**
 * The client: operations by name over one pending store, and what is left of them after a reload or a restart.
 */

import { createLocks } from './locks.ts';
import { look, swap } from './kept.ts';
import { checkOwnKey } from './keys.ts';
import { type ClientOperation, createOperation, run } from './named-operation.ts';
import { type ClientOptions, readOptions } from './options.ts';
import type { ClientResult } from './results.ts';
import { headersOf, type PendingRow } from './row.ts';

/** What is pending. */
export interface PendingInfo {
  readonly operation: string;
  readonly method: string;
  readonly url: string;
  /** Since its key was made, in milliseconds, by this device's clock. */
  readonly ageMs: number;
}

/** A client. */
export interface Client {
  /**
   * The operation of a name. `key`: one that was made earlier, such as when the job was enqueued; then it never
   * changes.
   */
  operation(name: string, options?: { readonly key?: string }): ClientOperation;
  /** What is pending, the oldest first; at most 1,000. Rejects with the pending store's error. */
  pending(): Promise<readonly PendingInfo[]>;
  /**
   * Goes on with everything that is pending, or with the operations of these names, four at a time; call it at the
   * start of the page or the process. Their results, the oldest first. Also drops answers that were kept long enough.
   */
  resume(options?: {
    readonly operations?: readonly string[];
    readonly signal?: AbortSignal;
  }): Promise<readonly ClientResult[]>;
}

const ROWS_MAX = 1000;
const LANES = 4;

/** Makes a client. Throws `OptionsError`. */
export function createClient(options: ClientOptions): Client {
  const settings = readOptions(options);
  const runAlone = createLocks();

  /** Pending rows, the oldest first; answers that are over are dropped on the way. */
  async function pendingRows(): Promise<{ operation: string; row: PendingRow }[]> {
    const found: { operation: string; row: PendingRow }[] = [];
    for (const operation of (await settings.pending.names()).slice(0, ROWS_MAX)) {
      // One that cannot be read is told when it is called; here it must not hide the others.
      const kept = await look(settings, operation).catch(() => null);
      if (kept?.row.state === 'pending') found.push({ operation, row: kept.row });
      else if (kept !== null && settings.world.wallNow() - kept.row.settledAt > settings.settledKeptMs)
        await swap(settings, operation, kept.text, null).catch(() => false);
    }
    return found.toSorted((a, b) => a.row.createdAt - b.row.createdAt);
  }

  return {
    operation: (name, { key } = {}) =>
      createOperation(settings, runAlone, name, key === undefined ? null : checkOwnKey(key)),
    async pending() {
      const now = settings.world.wallNow();
      return (await pendingRows()).map(({ operation, row: { request, createdAt } }) => ({
        operation,
        method: request.method,
        url: request.url,
        ageMs: now - createdAt,
      }));
    },
    async resume({ operations, signal } = {}) {
      const rows = (await pendingRows()).filter(({ operation }) => operations?.includes(operation) ?? true);
      const results: (ClientResult | null)[] = [];
      let next = 0;
      const lane = async (): Promise<void> => {
        for (let at = next++; ; at = next++) {
          const pending = rows[at];
          if (pending === undefined) return;
          const { operation, row } = pending;
          const { request: kept, key, digest } = row;
          const headers = headersOf(kept.headers);
          const init = kept.credentials === null ? {} : { credentials: kept.credentials };
          const request = { kept, digest, headers, init };
          const call = { operation, request, ownKey: null, onlyKey: key, signal: signal ?? null };
          results[at] = await run(settings, runAlone, call);
        }
      };
      await Promise.all(Array.from({ length: LANES }, lane));
      return results.filter((result) => result !== null);
    },
  };
}
