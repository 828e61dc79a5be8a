/**
 * The client: operations by name over one pending store, and what is left of them after a reload or a restart.
 */

import { createLocks } from './locks.ts';
import { look } from './kept.ts';
import {
  type ClientOperation,
  createOperation,
  type OperationOptions,
  run,
  verbs,
} from './named-operation.ts';
import { type ClientOptions, readOptions } from './options.ts';
import type { ClientResult } from './results.ts';
import { headersOf, type PendingRow } from './row.ts';

/** An operation that is not settled: a page asks the person about it. */
export interface OpenOperation extends Pick<ClientOperation, 'cancel' | 'discard'> {
  readonly operation: string;
  readonly method: string;
  readonly url: string;
  /** Since its key was made, in milliseconds, by this device's clock. */
  readonly ageMs: number;
  /** A request may have left: it may be done. False: cancel it, or go on with it. */
  readonly wasSent: boolean;
  /** Sends it, under its key. Null: it is not open any more. */
  goOn(options?: { readonly signal?: AbortSignal }): Promise<ClientResult | null>;
}

/** A client. */
export interface Client {
  /** The operation of a name. Throws `OptionsError`. */
  operation(name: string, options?: OperationOptions): ClientOperation;
  /**
   * What an earlier page or process has left open, the oldest first, of all operations or of these names; call it at
   * the start. It sends nothing: the person may have given it up, so ask, then `goOn`, `cancel` or `discard`. Also
   * drops answers that were kept long enough. Rejects with the pending store's error.
   */
  resume(options?: { readonly operations?: readonly string[] }): Promise<readonly OpenOperation[]>;
}

/** Makes a client. Throws `OptionsError`. */
export function createClient(options: ClientOptions): Client {
  const settings = readOptions(options);
  const { pending, world } = settings;
  const runAlone = createLocks();

  function openOf(
    operation: string,
    { key, digest, createdAt, stage, request: kept }: PendingRow,
  ): OpenOperation {
    const { method, url } = kept;
    return {
      operation,
      method,
      url,
      ageMs: world.wallNow() - createdAt,
      wasSent: stage === 'sent',
      ...verbs(settings, operation, key),
      goOn({ signal } = {}) {
        const request = { kept, digest, headers: headersOf(kept.headers), init: {} };
        const call = {
          operation,
          request,
          ownKey: null,
          onlyKey: key,
          whenDone: 'same',
          signal: signal ?? null,
        } as const;
        return run(settings, runAlone, call);
      },
    };
  }

  return {
    operation: (name, operationOptions = {}) => createOperation(settings, runAlone, name, operationOptions),
    async resume({ operations } = {}) {
      const open: { readonly createdAt: number; readonly one: OpenOperation }[] = [];
      for (const operation of operations ?? (await pending.names())) {
        // One that cannot be read is told when it is called; here it must not hide the others.
        const kept = await look(settings, operation).catch(() => null);
        if (kept === null) continue;
        const { row, text } = kept;
        if (row.stage !== 'settled') open.push({ createdAt: row.createdAt, one: openOf(operation, row) });
        else if (world.wallNow() - row.settledAt > settings.settledKeptMs)
          await pending.swap(operation, text, null).catch(() => false);
      }
      // oxlint-disable-next-line unicorn/no-array-sort -- browsers of 2022 have no toSorted (F140), and the list is ours
      return open.sort((a, b) => a.createdAt - b.createdAt).map(({ one }) => one);
    },
  };
}
