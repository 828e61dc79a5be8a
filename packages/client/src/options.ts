/** Options of a client, checked once, when it is made. */

import { type ClientProfile, ietf } from './answer.ts';
import { must } from './client-error.ts';
import { type ClientWorld, OWN_WORLD } from './client-world.ts';
import { uuidV4 } from './keys.ts';
import { type Clock, createClock } from './clock.ts';
import { createLocks, type RunAlone } from './locks.ts';
import { type OwnRows, ownRows, type PendingStore } from './pending.ts';
import type { ClientEvent } from './results.ts';
import type { Row } from './row.ts';

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
  /**
   * Whose operations these are: the id of the user who is signed in, the name of the job in a worker. Another subject
   * sees nothing of them. When the user changes, `clear` this client and make another.
   */
  readonly subject: string;
  /** Relative addresses start here. Default: the page. */
  readonly baseUrl?: string;
  /** Default: the platform's. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /**
   * Headers of every request, made anew each time: credentials belong here, so that a resumed operation has them too.
   */
  readonly headers?: () => HeadersInit | Promise<HeadersInit>;
  /**
   * Headers that decide what is meant, such as the account or the currency: they are compared, kept and sent again as
   * they were at the first call, be they given with the call or by `headers`. Never credentials. Default: none.
   */
  readonly decidingHeaders?: readonly string[];
  /**
   * How the server speaks; default: Samekey's problem documents and the draft's. Others are `stripe` and
   * `withRefusals`, of entries of their own.
   */
  readonly profile?: ClientProfile;
  /** Whether the key is sent as a quoted String (RFC 9651); default: the profile's. */
  readonly quoted?: boolean;
  /** Of operations that say nothing themselves. Default `ask` in a page; elsewhere nobody can be asked. */
  readonly whenDone?: WhenDone;
  /** Makes keys; default `uuidV4`. */
  readonly makeKey?: () => string;
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
  /**
   * An operation that is pending longer is not sent again, in milliseconds; default 23 h: the server must still know
   * the key. Keep it below the retention of the server.
   */
  readonly pendingAgeMaxMs?: number;
  /**
   * Whether this machine's wall clock may prove an age where no date of the server was seen; default: not in browsers,
   * whose clocks are set by hand. Then the person is asked (`age-unknown`).
   */
  readonly trustClock?: boolean;
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
export type Settings = Required<
  Omit<ClientOptions, 'baseUrl' | 'onEvent' | 'headers' | 'whenDone' | 'pending'>
> & {
  readonly pending: OwnRows;
  readonly clock: Clock;
  readonly locks: RunAlone;
  /** Names in rows whose monotonic clock it was. */
  readonly page: string;
  /** The user has signed out. */
  isCleared: boolean;
  /** Keys of what is not kept whole, and whose person was asked: the same call may go on with them. */
  readonly asked: Set<string>;
  settledCount: number;
  readonly baseUrl: string | undefined;
  readonly whenDone: WhenDone | undefined;
  /** What was sent and is not settled, by operation; or is, and the store does not know. */
  readonly live: Map<string, Row>;
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

const WHEN_DONE: readonly unknown[] = ['same', 'again', 'ask', undefined];

/** Checks what an operation says; throws `OptionsError`. */
export function readWhenDone(value: WhenDone | undefined): WhenDone | undefined {
  must(WHEN_DONE.includes(value), 'whenDone is "same", "again" or "ask".');
  return value;
}

/** Refuses names that are none: a misspelt option must not pass in silence (F87). */
export function checkNames(options: object, known: readonly string[]): void {
  for (const name in options) must(known.includes(name), `${name} is no option here.`);
}

/** All clients of a page have one clock: what one sent before its user signed out and in has an age for the next. */
let ownPage = '';

/** Checks and completes them. Throws `OptionsError`. */
export function readOptions(options: ClientOptions): Settings {
  const { onEvent, ...rest } = options;
  const { pending, subject, profile = ietf, decidingHeaders = [] } = options;
  must(typeof pending?.swap === 'function', 'pending is missing.');
  must(typeof subject === 'string' && subject !== '', 'subject is missing: whose is it?');
  must(typeof profile.read === 'function', 'profile is wrong.');
  must(globalThis.crypto?.subtle !== undefined, 'No Web Crypto: use HTTPS.');
  must(!/cookie|authorization/i.test(decidingHeaders.join()), 'Credentials are no decidingHeaders.');
  const defaults = {
    ...NUMBERS,
    pending,
    subject,
    baseUrl: undefined,
    headers: undefined,
    decidingHeaders,
    fetch: (url: string, init: RequestInit) => globalThis.fetch(url, init),
    profile,
    quoted: profile.quoted,
    // Elsewhere nobody can be asked, so it has to be said.
    whenDone: 'document' in globalThis ? ('ask' as const) : undefined,
    makeKey: uuidV4,
    trustClock: !('indexedDB' in globalThis),
    world: OWN_WORLD,
  };
  // The tables of the server's options would not fit into a browser's download.
  checkNames(rest, Object.keys(defaults));
  const read = { ...defaults, ...rest };
  readWhenDone(read.whenDone);
  for (const name in NUMBERS) {
    const value = read[name as keyof typeof NUMBERS];
    // Whoever waits for an operation must find its answer.
    const min = name === 'settledKeptMs' ? read.timeMaxMs : 1;
    must(Number.isSafeInteger(value) && value >= min, `${name} is ${value}: set an integer from ${min}.`);
  }
  const { world } = read;
  const bytes = new TextEncoder().encode(`samekey:${subject}`);
  const user = Promise.resolve(world.sha256(bytes)).then((text) => `${text}:`);
  return {
    ...read,
    decidingHeaders: decidingHeaders.map((name) => name.toLowerCase()),
    pending: ownRows(pending, user),
    clock: createClock(world, read.trustClock),
    locks: createLocks(world, user, Math.min(read.tryTimeMaxMs, read.timeMaxMs / 3)),
    page: world === OWN_WORLD ? (ownPage ||= uuidV4()) : uuidV4(),
    isCleared: false,
    asked: new Set(),
    settledCount: 0,
    live: new Map(),
    // A listener that fails must not fail the operation.
    emit(event: ClientEvent) {
      try {
        onEvent?.(event);
      } catch (error) {
        world.warn('SAMEKEY_LISTENER', String(error));
      }
    },
  };
}
