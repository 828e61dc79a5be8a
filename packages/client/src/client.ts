/**
 * The client: operations by name over one pending store, and what is left of them after a reload or a restart.
 */

import { all, type Found, look, signOut, strip } from './kept.ts';
import { ofStore } from './stopped.ts';
import {
  type ClientOperation,
  createOperation,
  type OperationOptions,
  run,
  verbs,
} from './named-operation.ts';
import { checkNames, type ClientOptions, readOptions } from './options.ts';
import { type ClientResult, unknown } from './results.ts';
import { bareOf, headersOf, type PendingRow } from './row.ts';

/** An operation that is not settled: a page asks the person about it. */
export interface OpenOperation extends Pick<ClientOperation, 'cancel' | 'discard'> {
  readonly operation: string;
  /** Empty, as `url`: its user has signed out since, or it cannot be read. */
  readonly method: string;
  readonly url: string;
  /** Since its key was made, in milliseconds. Null: no clock proves it. */
  readonly ageMs: number | null;
  /** Its request is kept whole. False: only the same call goes on with it. */
  readonly canGoOn: boolean;
  /** A request may have left: it may be done. False: cancel it, or go on with it. */
  readonly wasSent: boolean;
  /** Sends it, under its key; or lets the same call do so, where `canGoOn` is false. Null: it is not open any more. */
  goOn(options?: { readonly signal?: AbortSignal }): Promise<ClientResult | null>;
}

/** A client. */
export interface Client {
  /** Whose operations these are. */
  readonly subject: string;
  /** The operation of a name. Throws `OptionsError`. */
  operation(name: string, options?: OperationOptions): ClientOperation;
  /**
   * What an earlier page or process has left open, the oldest first, of all operations or of these names; call it at
   * the start. It sends nothing: the person may have given it up, so ask, then `goOn`, `cancel` or `discard`. Also
   * drops answers that were kept long enough. Rejects with the pending store's error.
   */
  resume(options?: { readonly operations?: readonly string[] }): Promise<readonly OpenOperation[]>;
  /**
   * The user signs out: what was never sent is given up; requests and answers are dropped, of the store and of memory;
   * of what was sent and is not settled the key stays with its digest, so the same user, who pays again, pays under it,
   * and so does that something is done. `unsettled: true`, with the user's consent, gives these up too. This client is
   * at its end then, in flight too: nothing more leaves it, and nobody is told. Rejects with the pending store's error.
   */
  clear(options?: { readonly unsettled?: boolean }): Promise<void>;
}

/** Makes a client. Throws `OptionsError`. */
export function createClient(options: ClientOptions): Client {
  const settings = readOptions(options);
  function openOf(operation: string, row: PendingRow): OpenOperation {
    const { key, digest, created, page, stage, request: kept } = row;
    const canGoOn = kept?.isWhole === true;
    return {
      operation,
      method: kept?.method ?? '',
      url: kept?.url ?? '',
      ageMs: settings.clock.since(created, page === settings.page),
      canGoOn,
      wasSent: stage === 'sent',
      ...verbs(settings, operation, key),
      async goOn({ signal = null } = {}) {
        if (!canGoOn) {
          settings.asked.add(key);
          return { operation, key, tries: 0, ...unknown('cleared') };
        }
        return run(settings, {
          operation,
          request: { kept, digest, headers: headersOf(kept.headers), init: {} },
          ownKey: null,
          onlyKey: key,
          whenDone: 'same',
          signal,
        });
      },
    };
  }

  return {
    subject: settings.subject,
    operation: (name, operationOptions = {}) => createOperation(settings, name, operationOptions),
    async resume({ operations } = {}) {
      const found: Iterable<readonly [string, Found | null]> =
        operations === undefined
          ? await all(settings)
          : await Promise.all(
              operations.map(async (name) => [name, await ofStore(look(settings, name))] as const),
            );
      const open = [...found].flatMap(([name, one]) =>
        one === null || one.row.stage === 'settled' ? [] : [{ name, row: one.row }],
      );
      // oxlint-disable-next-line unicorn/no-array-sort -- browsers of 2022 have no toSorted (F140), and the list is ours
      open.sort((a, b) => a.row.created.wall - b.row.created.wall);
      return open.map(({ name, row }) => openOf(name, row));
    },
    async clear(clearing = {}) {
      checkNames(clearing, ['unsettled']);
      const { live } = settings;
      settings.isCleared = true;
      for (const [name, row] of live) live.set(name, bareOf(row));
      // Before the rows: what is entered later finds it.
      const changes = [signOut(settings)];
      await Promise.allSettled(changes);
      for (const name of (await all(settings)).keys())
        changes.push(strip(settings, name, clearing.unsettled === true));
      // One that cannot be written must not keep the others.
      await Promise.allSettled(changes);
      await Promise.all(changes);
    },
  };
}
