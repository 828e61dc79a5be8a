/**
 * The one gate in front of everything that is stored as an answer (contract §8.2): middleware, served operations,
 * `run`, workers, verdicts and operators all pass it. What belongs to one connection, one moment or one caller is not
 * stored, in headers and in trailers.
 *
 * Invariant: nobody else makes a {@link StorableResponse}, so an answer that has not passed is none that types let be
 * stored.
 * Sources: RFC 9110 §7.6.1 (Connection and hop-by-hop fields), §6.5 (trailers); RFC 9112 §6 (framing); Fetch §3.2 (CORS
 * response headers).
 */

import { OptionsError } from './errors.ts';
import type { HeaderLine, StoredResponse } from './response.ts';

declare const PASSED: unique symbol;

/** An answer that has passed the gate. */
export type StorableResponse = StoredResponse & { readonly [PASSED]: true };

/** Made anew for each connection and each moment: no answer that is held as data has them. */
const MADE_ANEW: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'content-length',
  'date',
]);

/** Bound to the request that was answered. */
const OF_ONE_REQUEST: ReadonlySet<string> = new Set([
  'x-request-id',
  'request-id',
  'x-correlation-id',
  'x-trace-id',
  'traceresponse',
  'server-timing',
  'x-response-time',
  'idempotency-replayed',
  'idempotent-replayed',
  'idempotency-stored',
  'idempotency-key-expires',
]);

const NONE_LEFT: readonly HeaderLine[] = [];

/** What is stored of an answer. `Set-Cookie` belongs to the caller's session and is stored only if asked for. */
export function storable(answer: StoredResponse, storeSetCookie: boolean): StorableResponse {
  const { status, headers, body, trailers } = answer;
  const nominated = connectionOptions(headers);
  const keep = ([name]: HeaderLine): boolean => {
    const lower = name.toLowerCase();
    if (isMadeAnew(lower, nominated) || OF_ONE_REQUEST.has(lower)) return false;
    if (lower.startsWith('access-control-')) return false;
    return storeSetCookie || (lower !== 'set-cookie' && lower !== 'set-cookie2');
  };
  const kept = { status, headers: headers.filter(keep), body };
  const keptTrailers = trailers?.filter(keep) ?? NONE_LEFT;
  const passed: StoredResponse = keptTrailers.length === 0 ? kept : { ...kept, trailers: keptTrailers };
  return passed as StorableResponse;
}

/** The lines of an answer that is held as data, for its first client: an upstream's framing is not ours. */
export function withoutFraming(lines: readonly HeaderLine[]): readonly HeaderLine[] {
  if (lines.length === 0) return lines;
  const nominated = connectionOptions(lines);
  return lines.filter(([name]) => !isMadeAnew(name.toLowerCase(), nominated));
}

function isMadeAnew(lower: string, nominated: readonly string[]): boolean {
  return MADE_ANEW.has(lower) || lower.startsWith('proxy-') || nominated.includes(lower);
}

const NONE: readonly string[] = [];

function connectionOptions(lines: readonly HeaderLine[]): readonly string[] {
  let options = NONE;
  for (const [name, value] of lines) {
    if (name.length !== 'connection'.length || name.toLowerCase() !== 'connection') continue;
    options = [...options, ...value.split(',').map((option) => option.trim().toLowerCase())];
  }
  return options;
}

/**
 * Names and values as RFC 9110 §5 has them: once stored, a line that no server sends would fail every answer of the
 * key. Throws `OptionsError`.
 */
export function checkLines(what: string, lines: unknown): asserts lines is readonly HeaderLine[] {
  if (!Array.isArray(lines))
    throw new OptionsError(`${what} has headers as a list of lines, name and value.`);
  for (const line of lines as readonly unknown[]) {
    const [name, value] = Array.isArray(line) ? (line as readonly unknown[]) : [];
    if (typeof name !== 'string' || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
      const shown = typeof name === 'string' ? JSON.stringify(name) : typeof name;
      throw new OptionsError(`${what} has headers as lines of name and value; ${shown} is no name of one.`);
    }
    if (typeof value !== 'string' || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw new OptionsError(
        `The value of the header "${name}" (${what}) holds what a header cannot: encode it.`,
      );
  }
}

/** An answer that somebody gives by hand, checked and passed. Throws `OptionsError`. */
export function storableByHand(what: string, answer: StoredResponse): StorableResponse {
  const { status, headers, body, trailers } = answer;
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new OptionsError(`${what} has a status from 200 to 599; it is ${String(status)}.`);
  if (body !== null && !(body instanceof Uint8Array))
    throw new OptionsError(`${what} has its body as bytes (Uint8Array), or null where it is not known.`);
  checkLines(what, headers);
  if (trailers !== undefined) checkLines(what, trailers);
  return storable(answer, false);
}
