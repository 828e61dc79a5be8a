/** What `verify` is told, and the defaults. Wrong options are refused before anything is sent. */

import { OptionsError } from 'samekey/internals/core/errors';
import {
  aFunction,
  anything,
  byName,
  kindOf,
  listOf,
  nested,
  oneOf,
  readOptions,
  required,
  type Row,
  row,
  type Table,
  text,
  trueOrFalse,
  wholeNumber,
} from 'samekey/internals/core/options';
import type { Count } from './counting.ts';
import { PROFILE_NAMES, type ProfileName } from './expectations.ts';

/** Headers by name. */
export type Headers = Readonly<Record<string, string>>;

/** A body, or a function that gives the body of a new intent each time it is called. */
export type Body = string | Uint8Array | (() => string | Uint8Array);

/** What makes the handler slow, so that requests can meet at it: any of them is added to the request. */
export interface Hold {
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Headers;
  readonly body?: Body;
}

/**
 * What to judge, and with what. Only `url` is required; what is not given leaves questions open, and the report says
 * which.
 */
export interface VerifyOptions {
  /** The operation. Requests go to it, to `otherUrl`, `getUrl` and the counter's URL, and nowhere else. */
  readonly url: string;
  /** Default `POST`. */
  readonly method?: string;
  /** Sent with each request: content type (default `application/json`), the credential of the first tenant. */
  readonly headers?: Headers;
  /** A request that succeeds. Default `{}`. */
  readonly body?: Body;
  /** Another request of the same operation. Default: made of `body`, by one number or letter. */
  readonly otherBody?: Body;
  /** Headers of another tenant, put over `headers`. */
  readonly tenantB?: Headers;
  /** Headers of another credential of the first tenant. */
  readonly rotated?: Headers;
  /** Where executions are counted. */
  readonly count?: Count;
  /** How long after an answer its effect may still come to be counted, in milliseconds: at most 5,000. Default 0. */
  readonly settleMs?: number;
  /** Makes the handler slow: half a second is enough. */
  readonly hold?: Hold;
  /** Another path of the same service, where the same body is another operation. */
  readonly otherUrl?: string;
  /** What GET is tried on, and what changes with each execution. Default `url`. */
  readonly getUrl?: string;
  /** A body that is refused for good (4xx): out of stock, card declined. */
  readonly refusedBody?: Body;
  /**
   * A body that the handler fails on (5xx), and what the service declares for the retry: run again, answered alike, or
   * 409.
   */
  readonly failing?: { readonly body: Body; readonly expect: 'retried' | 'replayed' | 'unknown' };
  /** How long a key is remembered, in milliseconds, if that is short enough to wait for: 500 to 10,000. */
  readonly expiresMs?: number;
  /** Takes the service's store away, and gives it back. */
  readonly store?: { down(): void | Promise<void>; up(): void | Promise<void> };
  /** Whether a request without a key is to be refused. Default true. */
  readonly isKeyRequired?: boolean;
  /** Default `ietf`. */
  readonly profile?: ProfileName;
  /** Default `Idempotency-Key`. */
  readonly keyHeader?: string;
  /** The header that says "this is a replay", if it is none that the field uses. */
  readonly markerHeader?: string;
  /** Headers that may differ between an answer and its replay, beside those of one connection, moment or request. */
  readonly ignoreHeaders?: readonly string[];
  /** Names of scenarios to run; default all. */
  readonly only?: readonly string[];
  /** Names of scenarios to leave out. */
  readonly skip?: readonly string[];
  /** Requests per second, on average; a race is a burst. Default 50. */
  readonly rateMax?: number;
  /** Requests of the larger race. Default 20. */
  readonly raceSize?: number;
  /** How long one answer may take, in milliseconds. Default 10,000. */
  readonly requestTimeMaxMs?: number;
  /** When no further scenario is begun, in milliseconds. Default 60,000. */
  readonly timeMaxMs?: number;
}

/** The same with every default in place. */
export interface Settings extends VerifyOptions {
  readonly method: string;
  readonly headers: Headers;
  readonly body: Body;
  readonly isKeyRequired: boolean;
  readonly profile: ProfileName;
  readonly keyHeader: string;
  readonly settleMs: number;
  readonly rateMax: number;
  readonly raceSize: number;
  readonly requestTimeMaxMs: number;
  readonly timeMaxMs: number;
}

const headerLines: Row<Headers, undefined> = byName(
  row((given, path) => {
    if (typeof given === 'string') return given;
    throw new OptionsError(`${path} is a text; it is ${kindOf(given)}.`);
  }),
);

const aBody: Row<Body, undefined> = row((given, path) => {
  if (typeof given === 'string' || typeof given === 'function' || given instanceof Uint8Array)
    return given as Body;
  throw new OptionsError(`${path} is a text, bytes, or a function that gives one; it is ${kindOf(given)}.`);
});

const url: Row<string, undefined> = row((given, path) => {
  if (typeof given === 'string' && URL.canParse(given) && /^https?:$/.test(new URL(given).protocol))
    return given;
  throw new OptionsError(`${path} must be an http or https URL, such as https://api.example/payments.`);
});

const ROWS = {
  url: required(url, 'url must be an http or https URL, such as https://api.example/payments.'),
  method: text('POST'),
  headers: headerLines,
  body: aBody,
  otherBody: aBody,
  tenantB: headerLines,
  rotated: headerLines,
  count: anything<Count>(),
  settleMs: wholeNumber(0, 5_000, 0),
  hold: nested({ query: headerLines, headers: headerLines, body: aBody } satisfies Table<Hold>),
  otherUrl: url,
  getUrl: url,
  refusedBody: aBody,
  failing: nested({
    body: required(aBody),
    expect: required(oneOf(['retried', 'replayed', 'unknown'])),
  } satisfies Table<NonNullable<VerifyOptions['failing']>>),
  expiresMs: wholeNumber(500, 10_000),
  store: nested({ down: required(aFunction()), up: required(aFunction()) } satisfies Table<
    NonNullable<VerifyOptions['store']>
  >),
  isKeyRequired: trueOrFalse(true),
  profile: oneOf(PROFILE_NAMES, 'ietf'),
  keyHeader: text('Idempotency-Key'),
  markerHeader: text(),
  ignoreHeaders: listOf(text()),
  only: listOf(text()),
  skip: listOf(text()),
  rateMax: wholeNumber(1, 1_000, 50),
  raceSize: wholeNumber(2, 100, 20),
  requestTimeMaxMs: wholeNumber(100, 60_000, 10_000),
  timeMaxMs: wholeNumber(1_000, 600_000, 60_000),
} satisfies Table<VerifyOptions>;

/** Checks them. Throws `OptionsError`. */
export function resolveOptions(options: VerifyOptions, scenarios: readonly string[]): Settings {
  const own = readOptions('verify', ROWS, options);
  const { count } = options;
  for (const name of ['otherUrl', 'getUrl'] as const) {
    const other = options[name];
    if (other === undefined) continue;
    // They are sent the headers of `url`, and with them a credential.
    if (new URL(other).origin !== new URL(options.url).origin)
      throw new OptionsError(`${name} must be of the same origin as url: it is sent the same headers.`);
  }
  if (typeof count === 'object' && 'url' in count) url.read(count.url, 'count.url');
  for (const name of [...(options.only ?? []), ...(options.skip ?? [])]) {
    if (!scenarios.includes(name))
      throw new OptionsError(`There is no scenario "${name}": there are ${scenarios.join(', ')}.`);
  }

  return {
    ...options,
    method: own.method.toUpperCase(),
    headers: withContentType(options.headers ?? {}),
    body: options.body ?? '{}',
    isKeyRequired: own.isKeyRequired,
    profile: own.profile,
    keyHeader: own.keyHeader,
    settleMs: own.settleMs,
    rateMax: own.rateMax,
    raceSize: own.raceSize,
    requestTimeMaxMs: own.requestTimeMaxMs,
    timeMaxMs: own.timeMaxMs,
  };
}

function withContentType(headers: Headers): Headers {
  const has = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  return has ? headers : { 'Content-Type': 'application/json', ...headers };
}

/** The bytes of a body. */
export function bytesOf(body: Body): Uint8Array {
  const given = typeof body === 'function' ? body() : body;
  return typeof given === 'string' ? Buffer.from(given) : given;
}
