/** Options of a client, checked once, when it is made. */

import { OptionsError } from './client-error.ts';
import { uuidV4 } from './keys.ts';
import type { PendingStore } from './pending.ts';
import type { ClientEvent } from './results.ts';
import { toBase64 } from './row.ts';

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
  /** How the server speaks; default `ietf`. */
  readonly profile?: 'ietf' | 'stripe';
  /** Whether the key is sent as a quoted String (RFC 9651); default: with `ietf`. */
  readonly quoted?: boolean;
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
  Required<Omit<ClientOptions, 'retry' | 'baseUrl' | 'profile' | 'onEvent' | 'headers'>> & {
    readonly baseUrl: string | undefined;
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

/** Checks and completes them. Throws `OptionsError`. */
export function readOptions(options: ClientOptions): Settings {
  const { retry, profile = 'ietf', onEvent, ...rest } = options;
  if (typeof options.pending?.swap !== 'function') throw new OptionsError('pending is missing.');
  if (profile !== 'ietf' && profile !== 'stripe') throw new OptionsError('profile is "ietf" or "stripe".');
  if (globalThis.crypto?.subtle === undefined)
    throw new OptionsError('Web Crypto is missing here: use HTTPS.');
  const defaults = {
    ...NUMBERS,
    pending: options.pending,
    baseUrl: undefined,
    headers: undefined,
    fetch: (url: string, init: RequestInit) => globalThis.fetch(url, init),
    quoted: profile === 'ietf',
    makeKey: uuidV4,
    world: clientWorld(),
    // A listener that fails must not fail the operation.
    emit(event: ClientEvent) {
      try {
        onEvent?.(event);
      } catch (error) {
        settings.world.warn('SAMEKEY_LISTENER', String(error));
      }
    },
  };
  const settings: Settings = { ...defaults, ...retry, ...rest };
  // A misspelt option must not pass in silence (F87); the tables of the server's options would not fit into a browser's
  // download.
  for (const name in settings) {
    if (!(name in defaults)) throw new OptionsError(`${name} is no option.`);
    if (!(name in NUMBERS)) continue;
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
