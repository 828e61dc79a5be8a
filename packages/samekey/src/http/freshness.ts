/**
 * Freshness of a request (contract §4, row 3): its signed time is looked at before its body is read and before the
 * store is asked. The clock is this server's: there is no other that the client could have meant.
 *
 * Invariant: what is let through was signed for this method, target and key, at most `windowMs` ago; and a key outlives
 * what was signed for it (`windowMs + skewMs` ≤ `retentionMs`), so a recorded request meets its record or is too old.
 */

import { OptionsError } from '../core/errors.ts';
import type { Outcome } from '../core/outcome.ts';
import { nested, required, type Row, row, shown, type Table, wholeNumber } from '../core/options.ts';
import {
  isSigned,
  parseTimeHeader,
  TIME_HEADER,
  type TimeFault,
  type TimeSecrets,
} from '../core/signed-time.ts';
import type { World } from '../core/world.ts';
import type { HttpRequest } from './exchange.ts';
import { type FirstSentOptions, outsideWindow } from './first-sent.ts';

/** Requests must say when they were sent, signed. */
export interface FreshnessOptions<Native> {
  /**
   * Secrets by name, of 16 bytes or more: those of all clients, or a function that gives those of the caller of a
   * request. Several are accepted at once, so that they can be changed one after the other.
   */
  readonly secrets:
    | TimeSecrets
    | ((request: Native) => TimeSecrets | null | undefined | Promise<TimeSecrets | null | undefined>);
  /** How old a request may be, in milliseconds; default 300,000. */
  readonly windowMs?: number;
  /** How far in the future its time may lie, in milliseconds; default 30,000. */
  readonly skewMs?: number;
  /** The header; default `Samekey-Time`. */
  readonly header?: string;
}

/** Freshness with every default in place. */
export interface Freshness<Native> {
  readonly secretsOf: (
    request: Native,
  ) => TimeSecrets | null | undefined | Promise<TimeSecrets | null | undefined>;
  readonly windowMs: number;
  readonly skewMs: number;
  /** In lower case. */
  readonly header: string;
}

const SECRET_BYTES_MIN = 16;
const SECRET_NAME = /^[\w-]{1,40}$/;

const headerName: Row<string, undefined> = row((given, path) => {
  if (typeof given === 'string' && /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(given)) return given;
  throw new OptionsError(`${path} is the name of a header, such as ${TIME_HEADER}; it is ${shown(given)}.`);
});

const FRESHNESS_ROWS = {
  secrets: required(
    row((given) => {
      if (typeof given !== 'function') checkSecrets(given as TimeSecrets);
      return given as FreshnessOptions<never>['secrets'];
    }),
    'freshness needs secrets: at least one, by name.',
  ),
  windowMs: wholeNumber(1_000, undefined, 300_000),
  skewMs: wholeNumber(0, undefined, 30_000),
  header: { ...headerName, absent: (): string => TIME_HEADER },
} satisfies Table<FreshnessOptions<never>>;

/** Freshness as a member of a route's options. */
export const FRESHNESS_ROW: Row<Required<FreshnessOptions<never>>, undefined> = nested(FRESHNESS_ROWS);

/** Checks what hangs together. Throws `OptionsError`. */
export function compileFreshness<Native>(
  { secrets, windowMs, skewMs, header }: Required<FreshnessOptions<Native>>,
  retentionMs: number,
): Freshness<Native> {
  if (windowMs + skewMs > retentionMs) {
    throw new OptionsError(
      `freshness accepts a request for ${windowMs + skewMs} ms and its key is remembered for ${retentionMs} ms: a recorded request could run again. Make retentionMs longer or windowMs shorter.`,
    );
  }
  return {
    secretsOf: typeof secrets === 'function' ? secrets : () => secrets,
    windowMs,
    skewMs,
    header: header.toLowerCase(),
  };
}

function checkSecrets(secrets: TimeSecrets): void {
  const names = Object.keys(secrets ?? {});
  if (names.length === 0) throw new OptionsError('freshness needs secrets: at least one, by name.');
  for (const name of names) {
    if (!SECRET_NAME.test(name))
      throw new OptionsError('The name of a freshness secret is 1–40 letters, digits, "_" or "-".');
    const length = secrets[name]?.length ?? 0;
    if (length < SECRET_BYTES_MIN) {
      throw new OptionsError(
        `The freshness secret "${name}" has ${length} bytes: use ${SECRET_BYTES_MIN} random bytes or more.`,
      );
    }
  }
}

function invalid(fault: TimeFault): Outcome {
  return { kind: 'request-time-invalid', fault };
}

/** Why a request that must say when it was sent, or first sent, is refused; null for one that is not. */
export async function untimeliness<Native>(
  {
    freshness,
    firstSent,
  }: {
    readonly freshness: Freshness<Native> | null;
    readonly firstSent: Required<FirstSentOptions> | null;
  },
  native: Native,
  request: HttpRequest,
  key: string,
  world: Pick<World, 'hmacSha256' | 'wallNow'>,
): Promise<Outcome | null> {
  const stale = freshness === null ? null : await staleness(freshness, native, request, key, world);
  if (stale !== null || firstSent === null) return stale;
  return outsideWindow(firstSent, request, world.wallNow());
}

async function staleness<Native>(
  freshness: Freshness<Native>,
  native: Native,
  request: HttpRequest,
  key: string,
  world: Pick<World, 'hmacSha256' | 'wallNow'>,
): Promise<Outcome | null> {
  const parsed = parseTimeHeader(request.headerLines(freshness.header));
  if ('fault' in parsed) return invalid(parsed.fault);
  const secrets = (await freshness.secretsOf(native)) ?? {};
  const secret = Object.hasOwn(secrets, parsed.secret) ? secrets[parsed.secret] : undefined;
  if (secret === undefined || secret.length < SECRET_BYTES_MIN) return invalid('not-signed');
  const { method, path, query } = request;
  const signed = { time: parsed.time, method, target: query === '' ? path : `${path}?${query}`, key };
  if (!(await isSigned(signed, parsed.signature, secret, world))) return invalid('not-signed');
  const ageMs = world.wallNow() - parsed.time * 1_000;
  if (ageMs < -freshness.skewMs) return invalid('in-future');
  return ageMs > freshness.windowMs ? { kind: 'request-too-old', windowMs: freshness.windowMs } : null;
}
