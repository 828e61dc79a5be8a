/**
 * Which header lines are stored (semantics §8): all but what belongs to one connection, one moment or one caller.
 *
 * Sources: RFC 9110 §7.6.1 (Connection and hop-by-hop fields), RFC 9112 §6 (framing), Fetch §3.2 (CORS response headers).
 */

import type { HeaderLine } from '../core/response.ts';

/** Never stored: of one connection, recomputed, or bound to the request that was answered. */
const NOT_STORED: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
  'date',
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

/** The lines to store. `Set-Cookie` belongs to the caller's session and is stored only if asked for. */
export function storableHeaders(lines: readonly HeaderLine[], storeSetCookie: boolean): HeaderLine[] {
  const nominated = connectionOptions(lines);
  return lines.filter(([name]) => {
    const lower = name.toLowerCase();
    if (NOT_STORED.has(lower) || lower.startsWith('access-control-')) return false;
    return (storeSetCookie || lower !== 'set-cookie') && !nominated.includes(lower);
  });
}

function connectionOptions(lines: readonly HeaderLine[]): readonly string[] {
  const options: string[] = [];
  for (const [name, value] of lines) {
    if (name.toLowerCase() !== 'connection') continue;
    options.push(...value.split(',').map((option) => option.trim().toLowerCase()));
  }
  return options;
}

/** The last second that IMF-fixdate can write: its years have four digits. */
const HTTP_DATE_MAX_MS = Date.UTC(9999, 11, 31, 23, 59, 59);

let lastSecond = Number.NaN;
let lastDate = '';

/** A time as HTTP writes it (IMF-fixdate, RFC 9110 §5.6.7). */
export function httpDate(ms: number): string {
  const second = Math.floor(Math.min(ms, HTTP_DATE_MAX_MS) / 1000);
  // Under load most answers of one second name the same one.
  if (second !== lastSecond) {
    lastSecond = second;
    lastDate = new Date(second * 1000).toUTCString();
  }
  return lastDate;
}

/** Seconds as `Retry-After` wants them: whole, and at least one (RFC 9110 §10.2.3). */
export function retryAfterSeconds(ms: number): string {
  return String(Math.max(1, Math.floor(ms / 1000)));
}

/**
 * What a browser client needs to be allowed (F36): pass `allowedHeaders` and `exposedHeaders` to your CORS middleware, which
 * comes before Samekey.
 */
export const CORS: {
  readonly allowedHeaders: readonly string[];
  readonly exposedHeaders: readonly string[];
} = Object.freeze({
  allowedHeaders: Object.freeze(['Idempotency-Key']),
  exposedHeaders: Object.freeze([
    'Idempotency-Replayed',
    'Idempotent-Replayed',
    'Idempotency-Stored',
    'Idempotency-Key-Expires',
    'Retry-After',
    'Location',
    'Link',
  ]),
});
