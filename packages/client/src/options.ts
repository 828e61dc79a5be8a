/** Options of a client, checked once, when it is made. */

import { type ClientProfile, ietf, type Refusal } from './answer.ts';
import { OptionsError } from './client-error.ts';
import { uuidV4 } from './keys.ts';
import type { PendingStore } from './pending.ts';
import type { ClientEvent } from './results.ts';
import { type PendingRow, toBase64 } from './row.ts';

/** The machine as a client sees it: members of the server's world; tests pass a virtual one. */
export interface ClientWorld {
  /** Milliseconds on a clock that never goes back; its zero means nothing. */
  monotonicNow(): number;
  /** Milliseconds since 1970 by the machine's wall clock. */
  wallNow(): number;
  /** Calls `callback` once after `delayMs`. */
  setTimer(delayMs: number, callback: () => void): { cancel(): void };
  /** A number in [0, 1) for jitter. */
  random(): number;
  /** SHA-256 of `bytes`, as base64url without padding. */
  sha256(bytes: Uint8Array): string | Promise<string>;
  /** Tells a developer of a misuse. */
  warn(code: string, message: string): void;
}

/** How often and how long a call tries. */
export interface RetryOptions {
  /**
   * Requests that may end without a final answer; default 6. Waiting for one that is in progress is bounded by the time
   * alone.
   */
  readonly triesMax?: number;
  /** The whole call, waiting included, in milliseconds; default 90,000. */
  readonly timeMaxMs?: number;
  /** One request with its answer, in milliseconds; default 30,000. */
  readonly tryTimeMaxMs?: number;
  /** The first pause is drawn from 0 to this, and twice as much each time; in milliseconds, default 500. */
  readonly baseMs?: number;
  /** No drawn pause is longer, in milliseconds; default 20,000. */
  readonly capMs?: number;
}

/**
 * What an equal call means after the operation has ended in success. `same`: the one that is done, such as an invoice;
 * it gets the kept answer, marked as the earlier one · `again`: another one, such as a coffee; it has a new key ·
 * `ask`: it gets the kept answer, and the page asks whether it is meant again. Calls before the end are one intent
 * with any of them. Other content under the name is told and not sent, except under `again`.
 */
export type WhenDone = 'same' | 'again' | 'ask';

/** Options of {@link createClient}. */
export interface ClientOptions {
  /**
   * Where operations are kept: `memoryPending()`, `indexedDbPending()`, `localStoragePending()`, `filePending(folder)`,
   * or your own.
   */
  readonly pending: PendingStore;
  /** Relative addresses start here. Default: the page. */
  readonly baseUrl?: string;
  /** Default: the platform's. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /**
   * Headers of every request, made anew each time: credentials belong here, so that a resumed operation has them too.
   */
  readonly headers?: () => HeadersInit | Promise<HeadersInit>;
  /**
   * How the server speaks; default: Samekey's problem documents and the draft's. Another is `stripe` of its own entry.
   */
  readonly profile?: ClientProfile;
  /** Whether the key is sent as a quoted String (RFC 9651); default: the profile's. */
  readonly quoted?: boolean;
  /** Of operations that say nothing themselves. Default `ask` in a page; elsewhere nobody can be asked. */
  readonly whenDone?: WhenDone;
  /**
   * Answers of 4xx that are certain to say that nothing happened, where the server does not say so itself. Only a
   * request that was alone under its key is refused by them. Default: none.
   */
  readonly refusals?: readonly Refusal[];
  /** Makes keys; default `uuidV4`. */
  readonly makeKey?: () => string;
  readonly retry?: RetryOptions;
  /**
   * An operation that is pending longer is not sent again, in milliseconds; default 23 h: the server must still know
   * the key. Keep it below the retention of the server.
   */
  readonly pendingAgeMaxMs?: number;
  /**
   * So long an answer is kept for equal calls of the operation, in milliseconds; at least `timeMaxMs`, default 24 h.
   */
  readonly settledKeptMs?: number;
  /** Largest body, in bytes; default 1 MiB. */
  readonly bodySizeMaxBytes?: number;
  /** Larger answers are kept without their body, in bytes; default 64 KiB. */
  readonly answerSizeMaxBytes?: number;
  readonly onEvent?: (event: ClientEvent) => void;
  readonly world?: ClientWorld;
}

/** All of it, with the defaults. */
export type Settings = Required<RetryOptions> &
  Required<Omit<ClientOptions, 'retry' | 'baseUrl' | 'onEvent' | 'headers' | 'whenDone'>> & {
    readonly baseUrl: string | undefined;
    readonly whenDone: WhenDone | undefined;
    /** What was sent and is not settled, by operation. */
    readonly live: Map<string, PendingRow>;
    readonly headers: (() => HeadersInit | Promise<HeadersInit>) | undefined;
    readonly emit: (event: ClientEvent) => void;
  };

const NUMBERS = {
  triesMax: 6,
  timeMaxMs: 90_000,
  tryTimeMaxMs: 30_000,
  baseMs: 500,
  capMs: 20_000,
  pendingAgeMaxMs: 23 * 3_600_000,
  settledKeptMs: 24 * 3_600_000,
  bodySizeMaxBytes: 2 ** 20,
  answerSizeMaxBytes: 2 ** 16,
};

/** Those of `RetryOptions` lead. */
const RETRY = Object.keys(NUMBERS).slice(0, 5);
const WHEN_DONE: readonly unknown[] = ['same', 'again', 'ask', undefined];

/** Checks what an operation says; throws `OptionsError`. */
export function readWhenDone(value: WhenDone | undefined): WhenDone | undefined {
  if (!WHEN_DONE.includes(value)) throw new OptionsError('whenDone is "same", "again" or "ask".');
  return value;
}

/** Refuses names that are none: a misspelt option must not pass in silence (F87). */
export function checkNames(options: object, known: (name: string) => boolean): void {
  for (const name in options) if (!known(name)) throw new OptionsError(`${name} is no option here.`);
}

/** Checks and completes them. Throws `OptionsError`. */
export function readOptions(options: ClientOptions): Settings {
  const { retry = {}, onEvent, ...rest } = options;
  const { pending, profile = ietf, refusals = [] } = options;
  if (typeof pending?.swap !== 'function') throw new OptionsError('pending is missing.');
  if (typeof profile.read !== 'function') throw new OptionsError('profile is wrong.');
  if (globalThis.crypto?.subtle === undefined) throw new OptionsError('No Web Crypto: use HTTPS.');
  for (const refusal of refusals) {
    checkNames(refusal, (name) => name === 'status' || name === 'code');
    if (!(refusal.status >= 400 && refusal.status < 500))
      throw new OptionsError('refusals have a status of 4xx.');
  }
  const defaults = {
    ...NUMBERS,
    pending,
    baseUrl: undefined,
    headers: undefined,
    fetch: (url: string, init: RequestInit) => globalThis.fetch(url, init),
    profile,
    quoted: profile.quoted,
    // Elsewhere nobody can be asked, so it has to be said.
    whenDone: 'document' in globalThis ? ('ask' as const) : undefined,
    refusals,
    makeKey: uuidV4,
    world: clientWorld(),
  };
  // The tables of the server's options would not fit into a browser's download.
  checkNames(retry, (name) => RETRY.includes(name));
  checkNames(rest, (name) => name in defaults && !RETRY.includes(name));
  const settings: Settings = {
    ...defaults,
    ...retry,
    ...rest,
    live: new Map(),
    // A listener that fails must not fail the operation.
    emit(event: ClientEvent) {
      try {
        onEvent?.(event);
      } catch (error) {
        settings.world.warn('SAMEKEY_LISTENER', String(error));
      }
    },
  };
  readWhenDone(settings.whenDone);
  for (const name in NUMBERS) {
    const value = settings[name as keyof typeof NUMBERS];
    // Whoever waits for an operation must find its answer.
    const min = name === 'settledKeptMs' ? settings.timeMaxMs : 1;
    if (!Number.isSafeInteger(value) || value < min)
      throw new OptionsError(`${name} is ${value}: set an integer from ${min}.`);
  }
  return settings;
}

/**
 * Not the server's world: that one brings digests for Node which a browser need not download, and its timers let the
 * process end, while a program that waits for its answer must not end before it.
 */
function clientWorld(): ClientWorld {
  return {
    monotonicNow: () => performance.now(),
    wallNow: () => Date.now(),
    random: () => Math.random(),
    setTimer(delayMs, callback) {
      // Timers know no more: a longer delay would end at once.
      const timer = setTimeout(callback, Math.min(delayMs, 2 ** 31 - 1));
      return { cancel: () => clearTimeout(timer) };
    },
    sha256: async (bytes) =>
      toBase64(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as BufferSource))),
    // oxlint-disable-next-line no-console -- the one channel that every platform has
    warn: (code, message) => console.warn(`SamekeyWarning [${code}]: ${message}`),
  };
}
