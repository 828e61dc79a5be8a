/**
 * One operation of a client: what the user intends, by a name of the application's own (`pay-invoice-42`). However
 * often it is called, in however many tabs and after however many reloads, it has one key until it is settled or
 * `startNew` says that another one is meant.
 */

import { OptionsError } from './client-error.ts';
import { isReplay } from './answer.ts';
import { enter, look, NotKept, refuse, settle, swap } from './kept.ts';
import type { RunAlone } from './locks.ts';
import type { Settings } from './options.ts';
import { type ReadRequest, readRequest } from './request.ts';
import type { ClientResult, Told } from './results.ts';
import { responseOf } from './row.ts';
import { type Sending, send, type Sent } from './send.ts';

/** One operation. */
export interface ClientOperation {
  readonly name: string;
  /**
   * `fetch` under the operation's key; `method` defaults to POST. Resolves with what became of it, whatever the network
   * does; rejects with `OptionsError` for what is no operation (a GET, a body too large to keep).
   */
  fetch(url: string | URL, init?: RequestInit): Promise<ClientResult>;
  /**
   * The user means another operation of the same name: the next call makes a new key, whatever became of the last one.
   * What was dropped, or null. Rejects with the pending store's error.
   */
  startNew(): Promise<'pending' | 'settled' | null>;
}

/** One call: of `fetch`, or of an operation that is resumed. */
interface Call {
  readonly operation: string;
  readonly request: ReadRequest;
  readonly ownKey: string | null;
  readonly onlyKey: string | null;
  readonly signal: AbortSignal | null;
}

export function createOperation(
  settings: Settings,
  runAlone: RunAlone,
  name: string,
  ownKey: string | null,
): ClientOperation {
  if (typeof name !== 'string' || name === '' || name.length > 255)
    throw new OptionsError('The name is not 1–255 characters.');
  const { baseUrl, bodySizeMaxBytes: sizeMaxBytes } = settings;
  return {
    name,
    async fetch(url, init = {}) {
      const request = await readRequest(settings.world, url, init, { baseUrl, sizeMaxBytes });
      const call = { operation: name, request, ownKey, onlyKey: null, signal: init.signal ?? null };
      // Only what is resumed can be nothing.
      return (await run(settings, runAlone, call)) as ClientResult;
    },
    async startNew() {
      try {
        const first = await look(settings, name);
        // What another call has made of it meanwhile is dropped too; another key is another intent already.
        for (
          let now = first;
          now !== null && now.row.key === first?.row.key;
          now = await look(settings, name)
        )
          if (await swap(settings, name, now.text, null)) {
            settings.emit({ type: 'started-new', operation: name, dropped: now.row.state });
            break;
          }
        return first && first.row.state;
      } catch (error) {
        throw error instanceof NotKept ? error.error : error;
      }
    },
  };
}

/** Runs a call; null if what was to be resumed is gone. */
export async function run(settings: Settings, runAlone: RunAlone, call: Call): Promise<ClientResult | null> {
  const { world } = settings;
  const { operation, signal } = call;
  const startedAt = world.wallNow();
  const deadline = world.monotonicNow() + settings.timeMaxMs;
  const progress: { key: string | null; tries: number } = { key: null, tries: 0 };
  const result = (told: Told) => ({ operation, ...progress, ...told }) as ClientResult;
  const waiting = new AbortController();
  const stop = (): void => waiting.abort();
  const timer = world.setTimer(settings.timeMaxMs, stop);
  signal?.addEventListener('abort', stop);
  if (signal?.aborted === true) stop();
  let hasBegun = false;
  try {
    // Said at once, and not only when the request that is under way has ended.
    const found = await look(settings, operation);
    if (found?.row.state === 'pending') {
      progress.key = found.row.key;
      const told = refuse(settings, { ...call, startedAt }, found.row);
      if (told !== null) return result(told);
    }
    return await runAlone(operation, waiting.signal, async () => {
      hasBegun = true;
      timer.cancel();
      const entered = await enter(settings, { ...call, startedAt });
      if (entered === null) return null;
      if ('told' in entered) {
        progress.key = entered.key;
        return result(entered.told);
      }
      const { row, isFirst } = entered;
      const { key, createdAt } = row;
      const sending: Sending = {
        settings,
        operation,
        key,
        createdAt,
        request: call.request,
        isFirst,
        deadline,
        signal,
        tries: 0,
      };
      progress.key = key;
      const sent = await send(sending);
      progress.tries = sending.tries;
      if (!('answer' in sent)) return result(sent);
      const isFree = !sent.isKeyKept && (await settle(settings, operation, entered, sent.kind, sent.answer));
      return result(tellFinal(sent, isFree));
    });
  } catch (error) {
    if (error instanceof NotKept) {
      const told = { kind: 'not-kept', error: error.error } as const;
      settings.emit({ type: 'pending-store-error', operation, error: told.error });
      return result(told);
    }
    if (hasBegun || !waiting.signal.aborted) throw error;
    if (signal?.aborted === true) return result({ kind: 'aborted', reason: signal.reason as unknown });
    return result({ kind: 'in-progress', response: null, retryAfterMs: null });
  } finally {
    timer.cancel();
    signal?.removeEventListener('abort', stop);
  }
}

function tellFinal({ kind, answer }: Extract<Sent, { readonly answer: unknown }>, isFree: boolean): Told {
  const response = responseOf(answer);
  if (kind === 'replayed') return { kind, response, from: 'server' };
  if (kind === 'first')
    return { kind, response, isStored: answer.headers.get('idempotency-stored') !== 'false' };
  return { kind, response, isReplayed: isReplay(answer), isKeyKept: !isFree };
}
