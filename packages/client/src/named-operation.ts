/**
 * One operation of a client: what the user intends, by a name of the application's own (`pay-invoice-42`). However
 * often it is called, in however many tabs and after however many reloads, it has one key until it is settled; then
 * `whenDone` says what an equal call means. A person gives up by three verbs, each for one thing: `cancel`, `discard`,
 * `again`.
 */

import { must } from './client-error.ts';
import { drop, enter, type Found, look, markSent, meet, settle, signedOut, strip } from './kept.ts';
import { ofStore, Stopped } from './stopped.ts';
import { checkOwnKey } from './keys.ts';
import { GIVEN_UP } from './locks.ts';
import { checkNames, readWhenDone, type Settings, type WhenDone } from './options.ts';
import { type ReadRequest, readRequest } from './request.ts';
import { type ClientResult, done, refused, type Told, unknown, type UnknownWhy } from './results.ts';
import { type KeptAnswer, type PendingRow, responseOf } from './row.ts';
import { type Judged, type Sending, send } from './send.ts';

/** Options of an operation. */
export interface OperationOptions {
  /** One that was made earlier, such as when the job was enqueued; then it never changes. */
  readonly key?: string;
  /** What an equal call means once it is done; default: the client's. Not asked of an operation with a `key`. */
  readonly whenDone?: WhenDone;
}

/** One operation. */
export interface ClientOperation {
  readonly name: string;
  /**
   * `fetch` under the operation's key; `method` defaults to POST. Resolves with what became of it, whatever the network
   * does; rejects with `OptionsError` for what is no operation (a GET, a body too large to keep).
   */
  fetch(url: string | URL, init?: RequestInit): Promise<ClientResult>;
  /** Drops what was never sent. False: there is nothing, or a request may have left. Rejects with the store's error. */
  cancel(): Promise<boolean>;
  /**
   * Drops what is not known, with the person's consent: they have looked what became of it, because the next call has
   * a new key and may do it a second time; with a `key` of your own it has that one, and may do so where the server has
   * forgotten it. Whether something was dropped. Rejects with the store's error.
   */
  discard(consent: { readonly consented: true }): Promise<boolean>;
  /**
   * The person means it again, now that it is done: the next call has a new key. False: it is not over yet, so go on
   * with it, cancel or discard it. Rejects with the store's error, and with `OptionsError` for an operation with a
   * `key`: what is meant again has another one.
   */
  again(): Promise<boolean>;
}

/** One call: of `fetch`, or of an operation that is gone on with. */
interface Call {
  readonly operation: string;
  readonly request: ReadRequest | Promise<ReadRequest>;
  readonly ownKey: string | null;
  readonly onlyKey: string | null;
  readonly whenDone: WhenDone;
  readonly signal: AbortSignal | null;
}

/** Throws `OptionsError`. */
export function createOperation(
  settings: Settings,
  name: string,
  options: OperationOptions,
): ClientOperation {
  must(typeof name === 'string' && name !== '' && name.length < 256, 'A name has 1–255 characters.');
  checkNames(options, ['key', 'whenDone']);
  const ownKey = options.key === undefined ? null : checkOwnKey(options.key);
  // Of a key that never changes an equal call is always the same.
  const whenDone = readWhenDone(options.whenDone) ?? settings.whenDone ?? (ownKey === null ? null : 'same');
  must(whenDone !== null, 'whenDone is missing: say "same" or "again".');
  return {
    name,
    async fetch(url, init = {}) {
      const request = readRequest(settings, url, init);
      const { signal = null } = init;
      const call = { operation: name, request, ownKey, onlyKey: null, whenDone, signal };
      // Only what is resumed can be nothing.
      return (await run(settings, call)) as ClientResult;
    },
    ...verbs(settings, name, null),
    async again() {
      must(ownKey === null, 'An own key never changes: make another.');
      await drop(settings, name, 'again', null);
      const now = await ofStore(look(settings, name));
      return now === null || (now.row.stage === 'settled' && now.row.answer === null);
    },
  };
}

/** What a person can do about the pending row of a name, or of this key alone. */
export function verbs(
  settings: Settings,
  name: string,
  onlyKey: string | null,
): Pick<ClientOperation, 'cancel' | 'discard'> {
  return {
    cancel: () => drop(settings, name, 'cancel', onlyKey),
    async discard(consent) {
      // Callers without types may pass nothing.
      const isMeantSo = (consent as Partial<typeof consent> | undefined)?.consented === true;
      must(isMeantSo, 'discard({ consented: true }): ask the person.');
      return drop(settings, name, 'discard', onlyKey);
    },
  };
}

/** Runs a call; null if what was to be gone on with is not there any more. */
export async function run(settings: Settings, call: Call): Promise<ClientResult | null> {
  const result = await runOnce(settings, call);
  // It may have been entered while `clear` went through the rows, here or in another tab.
  if (settings.isCleared || result?.why === 'cleared')
    await strip(settings, call.operation, false).catch(() => null);
  return result;
}

async function runOnce(settings: Settings, call: Call): Promise<ClientResult | null> {
  const { operation, signal } = call;
  const deadline = settings.world.monotonicNow() + settings.timeMaxMs;
  const progress: Progress = { key: null, tries: 0 };
  const result = (told: Told): ClientResult => {
    // Whatever it was, it is for nobody who is still here.
    const given = settings.isCleared ? unknown('cleared') : told;
    return { operation, ...progress, ...given };
  };
  try {
    const request = await call.request;
    // Said at once, and not only when the request that is under way has ended.
    const before = signedOut(settings);
    const found = await look(settings, operation);
    const isOpen = found !== null && found.row.stage !== 'settled';
    // What is gone on with was whole when it was listed: else its user has signed out since.
    if (call.onlyKey !== null && (found?.row.key !== call.onlyKey || found.row.request === null)) return null;
    const endedKey = found === null || isOpen ? null : found.row.key;
    const entering = { ...call, request, endedKey, signedOut: await before };
    const met = found && meet(settings, entering, found.row);
    if (found !== null && (isOpen || met !== null)) progress.key = found.row.key;
    if (met !== null) return result(met);
    if (settings.isCleared || (signal?.aborted === true && !isOpen)) return result(refused('never-sent'));
    const told = await settings.locks(operation, signal, (isAlone) =>
      sendEntered(settings, { ...entering, deadline, isAlone }, progress),
    );
    return told && result(told);
  } catch (error) {
    if (error === GIVEN_UP) return result(unknown('aborted', { error: signal?.reason as unknown }));
    if (!(error instanceof Stopped)) throw error;
    const told = error.told ?? unknown('aborted');
    if (told.why === 'not-kept') settings.emit({ type: 'pending-store-error', operation, error: told.error });
    return result(told);
  }
}

interface Progress {
  key: string | null;
  tries: number;
}

type Entering = Call & {
  readonly request: ReadRequest;
  readonly endedKey: string | null;
  readonly signedOut: string | null;
  readonly deadline: number;
  /** Nobody else who shares the store is at it. */
  readonly isAlone: boolean;
};

async function sendEntered(settings: Settings, entering: Entering, progress: Progress): Promise<Told | null> {
  const { operation } = entering;
  const entered = await enter(settings, entering);
  if (entered === null) return null;
  progress.key = 'told' in entered ? entered.key : entered.row.key;
  if ('told' in entered) return entered.told;
  const { row } = entered;
  const { key } = row;
  let now: Found<PendingRow> = entered;
  const sending: Sending = {
    ...entering,
    settings,
    row,
    wasSent: row.stage === 'sent',
    progress,
    async beforeLeaving() {
      now = await markSent(settings, entering, key);
    },
  };
  const sent = await send(sending).catch((error: unknown) => {
    if (error instanceof Stopped && error.told === null) return null;
    throw error;
  });
  if (sent === null) {
    // Another call may have settled it: then its answer is this one's. Whether it was ever sent, its row says.
    const after = await enter(settings, { ...entering, onlyKey: key });
    return after !== null && 'told' in after ? after.told : unknown('aborted');
  }
  if ('told' in sent) {
    // Nothing has left: nobody need wait for it, and the next call is a new one.
    const isUnsent =
      entering.isAlone &&
      !sending.wasSent &&
      // A store that fails now has the row still: then it is not certain.
      (await drop(settings, operation, 'cancel', key).catch(() => false));
    return isUnsent ? refused('never-sent') : sent.told;
  }
  const isAlone = entered.isFirst && progress.tries === 1;
  return conclude(settings, operation, now, sent, isAlone && !now.row.isShared);
}

/** What an answer makes of the operation. `isAlone`: no other request was sent under the key. */
async function conclude(
  settings: Settings,
  operation: string,
  entered: Found<PendingRow>,
  { means, answer, retryAfterMs }: Judged,
  isAlone: boolean,
): Promise<Told> {
  const { headers } = answer;
  const response = responseOf(answer);
  const end = (outcome: KeptAnswer['outcome'], isForAll: boolean): Promise<boolean> =>
    settle(settings, operation, entered, outcome, answer, isForAll);
  if (means === 'first' || means === 'replayed' || means === 'unseen') {
    await end('done', true);
    return done(means, means === 'unseen' ? null : response, headers.get('idempotency-stored') !== 'false');
  }
  // `never-ran` is said of this request alone: an earlier one, or one that somebody else sends, may have begun.
  const isOfThis = means === 'never-ran';
  if ((means === 'stored' || (isOfThis && isAlone)) && (await end('refused', !isOfThis)))
    return refused(means, response);
  if (means === 'redirected')
    settings.world.warn('SAMEKEY_REDIRECT', 'A redirect is no answer: let the server send 200.');
  return unknown(isOfThis ? 'unproven' : (means as UnknownWhy), {
    response,
    retryAfterMs,
  });
}
