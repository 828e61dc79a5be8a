/** Which header lines are stored, and the forms of times in headers. */

import { idempotent } from '../../src/adapters/node/index.ts';
import { adyen, oasisRepeatable, x402 } from '../../src/dialects/index.ts';
import { createSamekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { describe, expect, it } from 'vitest';
import type { HeaderLine } from '../../src/core/response.ts';
import { storable } from '../../src/core/stored-response.ts';
import { CORS, corsFor } from '../../src/http/cors.ts';
import { httpDate, retryAfterSeconds } from '../../src/http/headers.ts';

function storableHeaders(headers: readonly HeaderLine[], storeSetCookie: boolean): readonly HeaderLine[] {
  const { headers: stored, trailers } = storable(
    { status: 200, headers, body: null, trailers: headers },
    storeSetCookie,
  );
  // One rule for both: a trailer reaches the next caller as a header does.
  expect(trailers ?? []).toEqual(stored);
  return stored;
}

/** Of one connection (RFC 9110 §7.6.1), recomputed (RFC 9112 §6), of one moment, or of one caller. */
const NEVER = [
  'Connection',
  'Keep-Alive',
  'Proxy-Authenticate',
  'Proxy-Connection',
  'TE',
  'Trailer',
  'Transfer-Encoding',
  'Upgrade',
  'Content-Length',
  'Date',
  'X-Request-Id',
  'X-Correlation-Id',
  'Server-Timing',
  'Access-Control-Allow-Origin',
  'Access-Control-Expose-Headers',
  'Idempotency-Replayed',
  'Idempotent-Replayed',
  'Idempotency-Stored',
  'Idempotency-Key-Expires',
];

describe('stored header lines', () => {
  it.each(NEVER)('never are %s, in any case', (name) => {
    for (const spelt of [name, name.toLowerCase(), name.toUpperCase()]) {
      expect(storableHeaders([[spelt, 'x']], true)).toEqual([]);
    }
  });

  it('are not what Connection names', () => {
    const lines: HeaderLine[] = [
      ['Connection', 'close, X-Hop'],
      ['connection', 'x-other'],
      ['x-hop', '1'],
      ['X-Other', '2'],
      ['X-Kept', '3'],
    ];
    expect(storableHeaders(lines, false)).toEqual([['X-Kept', '3']]);
  });

  it('keep order, spelling and repeats', () => {
    const lines: HeaderLine[] = [
      ['Link', '</b>'],
      ['X-a', ''],
      ['LINK', '</a>'],
      ['Content-Disposition', 'attachment; filename="a, b"'],
    ];
    expect(storableHeaders(lines, false)).toEqual(lines);
  });

  it('are Set-Cookie only if asked for', () => {
    const lines: HeaderLine[] = [
      ['Set-Cookie', 'a=1'],
      ['set-cookie', 'b=2'],
    ];
    expect(storableHeaders(lines, false)).toEqual([]);
    expect(storableHeaders(lines, true)).toEqual(lines);
  });

  it('are not confused by names that every object has', () => {
    const lines: HeaderLine[] = [
      ['constructor', '1'],
      ['__proto__', '2'],
    ];
    expect(storableHeaders(lines, false)).toEqual(lines);
  });
});

it.each([
  [0, '1'],
  [999, '1'],
  [1_000, '1'],
  [1_999, '1'],
  [30_000, '30'],
  [59_999, '59'],
])('Retry-After for %i ms is %s: whole seconds, at least one, never past the claim', (ms, seconds) => {
  expect(retryAfterSeconds(ms)).toBe(seconds);
});

it('dates are IMF-fixdate, also those no date can reach', () => {
  expect(httpDate(784_111_777_000)).toBe('Sun, 06 Nov 1994 08:49:37 GMT');
  expect(httpDate(Number.MAX_SAFE_INTEGER)).toBe('Fri, 31 Dec 9999 23:59:59 GMT');
});

// F36
it('the CORS lists name what a browser sends and what it may read, and cannot be changed', () => {
  expect(CORS.allowedHeaders).toEqual(['Idempotency-Key']);
  for (const name of ['Idempotency-Replayed', 'Idempotency-Key-Expires', 'Retry-After', 'Date', 'Location']) {
    expect(CORS.exposedHeaders).toContain(name);
  }
  expect(() => (CORS.allowedHeaders as string[]).push('X')).toThrow(TypeError);
});

// F88
it('browsers are allowed the headers that a route takes its keys from', () => {
  expect(corsFor('PayPal-Request-Id', 'X-Request-Key').allowedHeaders).toEqual([
    'PayPal-Request-Id',
    'X-Request-Key',
  ]);
  expect(corsFor('PayPal-Request-Id').exposedHeaders).toEqual(CORS.exposedHeaders);
  expect(CORS.allowedHeaders).toEqual(['Idempotency-Key']);
});

// F88
it('browsers are allowed what a protected function takes and tells, as its options have it', () => {
  const samekey = createSamekey({ store: memoryStore(), policy: 'payments' });
  const azure = idempotent(samekey, { scope: () => 'acme', dialect: oasisRepeatable }, () => undefined);
  const paid = idempotent(samekey, { scope: () => 'acme', dialect: x402 }, () => undefined);
  expect(corsFor(azure, 'X-Own')).toEqual({
    allowedHeaders: ['Repeatability-Request-ID', 'repeatability-first-sent', 'X-Own'],
    exposedHeaders: [...CORS.exposedHeaders, 'Repeatability-Result'],
  });
  expect(corsFor(paid).allowedHeaders).toContain('payment-signature');
  const adyens = idempotent(samekey, { scope: () => 'acme', dialect: adyen }, () => undefined);
  expect(corsFor(adyens).exposedHeaders).toContain('transient-error');
  // Each once, whatever its case.
  expect(corsFor('Idempotency-Key', adyens, 'idempotency-key').allowedHeaders).toEqual(['Idempotency-Key']);
  expect(() => corsFor(() => undefined)).toThrow('what idempotent() or serve() returned');
});
