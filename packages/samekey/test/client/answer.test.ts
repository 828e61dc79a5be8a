/** What answers mean, keys and waiting, one rule each. */

import { describe, expect, it } from 'vitest';
import { type Answer, judge, retryAfterMs } from '../../../client/src/answer.ts';
import { createClient, memoryPending, uuidV4, uuidV7 } from '../../../client/src/index.ts';
import { derivedKey } from '../../../client/src/keys/index.ts';
import { looksLikeCounter } from '../../../client/src/keys.ts';
import { checkKey } from '../../src/core/key.ts';
import { ietf } from '../../src/http/profiles/ietf.ts';
import { stripe } from '../../src/http/profiles/stripe.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';

function answer(status: number, headers: Record<string, string> = {}, body: unknown = ''): Answer {
  const bytes = new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body));
  return { status, headers: new Headers(headers), body: bytes };
}

const paid = async (): Promise<Response> => new Response('', { status: 201 });
const offline = async (): Promise<Response> => Promise.reject(new Error('offline'));

describe('judge', () => {
  const cases: readonly [string, Answer, string][] = [
    ['201', answer(201), 'first'],
    ['303', answer(303), 'first'],
    ['202 of the handler', answer(202), 'first'],
    ['202 with a status resource', answer(202, { location: '/s', 'retry-after': '1' }), 'in-progress'],
    ['402', answer(402), 'refused'],
    ['409 without a word', answer(409), 'refused'],
    ['409 with Retry-After', answer(409, { 'retry-after': '1' }), 'in-progress'],
    ['409 attempts-exhausted', answer(409, {}, { code: 'attempts-exhausted', retryable: false }), 'refused'],
    [
      '409 of the draft',
      answer(409, {}, { title: 'A request is outstanding for this Idempotency-Key' }),
      'in-progress',
    ],
    ['422 of a validation', answer(422, {}, { title: 'The amount is negative' }), 'refused'],
    ['422 of the draft', answer(422, {}, { title: 'Idempotency-Key is already used' }), 'mismatch'],
    ['400 that may pass', answer(400, {}, { code: 'body-unreadable', retryable: true }), 'later'],
    ['410', answer(410), 'gone'],
    ['501', answer(501), 'refused'],
    ['500', answer(500), 'later'],
    ['500, Stripe-Should-Retry: false', answer(500, { 'stripe-should-retry': 'false' }), 'refused'],
    ['409, Stripe-Should-Retry: true', answer(409, { 'stripe-should-retry': 'true' }), 'in-progress'],
    ['a replayed 500', answer(500, { 'idempotent-replayed': 'true' }), 'refused'],
    ['a replayed 201', answer(201, { 'idempotency-replayed': 'true' }), 'replayed'],
    ['503 with a page', answer(503, { 'content-type': 'text/html' }, '<h1>{</h1>'), 'later'],
  ];
  it.each(cases)('%s', (_name, given, kind) => expect(judge(given, true).kind).toBe(kind));

  it.each([ietf(), stripe()])('what $name says is understood', (profile) => {
    const said = (outcome: Parameters<typeof profile.render>[0]): string => {
      const { status, headers, body } = profile.render(outcome);
      const lines = headers.map(([name, value]): [string, string] => [name, value]);
      return judge({ status, headers: new Headers(lines), body: new Uint8Array(body ?? []) }, true).kind;
    };
    expect(said({ kind: 'mismatch' } as never)).toBe('mismatch');
    expect(said({ kind: 'unknown', retryAfterMs: 1_000 } as never)).toBe('unknown');
    expect(said({ kind: 'in-progress', retryAfterMs: 1_000 } as never)).toBe('in-progress');
    expect(said({ kind: 'pending', retryAfterMs: 1_000 } as never)).toBe('in-progress');
    expect(said({ kind: 'expired' } as never)).toBe('gone');
    expect(said({ kind: 'unavailable', because: 'store', retryAfterMs: 1_000 } as never)).toBe('later');
    expect(said({ kind: 'limited', retryAfterMs: 1_000 } as never)).toBe('later');
    expect(said({ kind: 'attempts-exhausted' } as never)).toBe('refused');
  });

  it('a refusal frees the key only where it speaks for every request that was sent', () => {
    expect(judge(answer(402), true).isKeyKept).toBe(false);
    expect(judge(answer(402), false).isKeyKept).toBe(true);
    expect(judge(answer(402, { 'idempotency-key-expires': 'soon' }), false).isKeyKept).toBe(false);
    expect(judge(answer(402, { 'idempotency-replayed': 'true' }), false).isKeyKept).toBe(false);
    expect(judge(answer(401), true).isKeyKept).toBe(true);
    expect(judge(answer(501), true).isKeyKept).toBe(true);
    expect(judge(answer(500, { 'idempotency-replayed': 'true' }), true).isKeyKept).toBe(true);
  });
});

it('Retry-After is read in seconds and as a date, by the server’s own clock where it tells it', () => {
  const now = Date.UTC(2026, 0, 1);
  const read = (headers: Record<string, string>): number | null => retryAfterMs(new Headers(headers), now);
  expect(read({ 'retry-after': '7' })).toBe(7_000);
  expect(read({ 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' })).toBe(30_000);
  expect(
    read({ 'retry-after': 'Thu, 01 Jan 2026 05:00:30 GMT', date: 'Thu, 01 Jan 2026 05:00:00 GMT' }),
  ).toBe(30_000);
  expect(read({ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' })).toBe(0);
  expect(read({ 'retry-after': 'later' })).toBeNull();
  expect(read({})).toBeNull();
});

describe('keys', () => {
  it('are UUIDs that every server takes, and never repeat', async () => {
    const made = [...Array.from({ length: 200 }, uuidV4), ...Array.from({ length: 200 }, () => uuidV7())];
    made.push(await derivedKey('0123456789abcdef', ['refund', 'r-7']));
    for (const key of made) expect(checkKey(key, { mode: 'strict', uuidOnly: true })).toBeNull();
    expect(new Set(made).size).toBe(made.length);
  });

  it('of version 7 sort by time and tell it', () => {
    const [early, late] = [uuidV7(Date.UTC(2026, 0, 1)), uuidV7(Date.UTC(2026, 0, 2))];
    expect(early < late).toBe(true);
    expect(Number.parseInt(early.replaceAll('-', '').slice(0, 12), 16)).toBe(Date.UTC(2026, 0, 1));
    expect(early[14]).toBe('7');
  });

  it('that are derived follow from secret and parts, and parts do not run together', async () => {
    const key = await derivedKey('0123456789abcdef', ['a', 'bc']);
    expect(await derivedKey('0123456789abcdef', ['a', 'bc'])).toBe(key);
    expect(await derivedKey('0123456789abcdef', ['ab', 'c'])).not.toBe(key);
    expect(await derivedKey('0123456789abcdeg', ['a', 'bc'])).not.toBe(key);
    await expect(derivedKey('short', ['a'])).rejects.toThrow('16 bytes');
  });

  it('that look like a counter are warned of', async () => {
    expect(['42', 'order-17', 'Invoice_000123'].every(looksLikeCounter)).toBe(true);
    expect([uuidV4(), uuidV7(), 'order-17-of-acme'].some(looksLikeCounter)).toBe(false);
    const world = fakeWorld();
    const client = createClient({
      pending: memoryPending(),
      world,
      fetch: paid,
      baseUrl: 'https://shop.example',
    });
    await client.operation('pay', { key: '42' }).fetch('/pay', { body: '5' });
    expect(world.warnings).toEqual([expect.stringContaining('SAMEKEY_COUNTER')]);
  });
});

describe('options', () => {
  const pending = memoryPending();
  it.each([
    [{}, 'pending is missing'],
    [{ pending, profile: 'aws' }, 'profile'],
    [{ pending, retry: { timeMaxMs: 0 } }, 'timeMaxMs is 0'],
    [{ pending, retry: { triesMax: 1.5 } }, 'triesMax is 1.5'],
    [{ pending, settledKeptMs: 1_000 }, 'settledKeptMs is 1000'],
  ])('%j is refused', (options, message) => {
    expect(() => createClient(options as never)).toThrow(message);
  });

  it('a GET, a body that is too large and a relative address without a base are no operations', async () => {
    const operation = createClient({ pending, bodySizeMaxBytes: 3 }).operation('pay');
    await expect(operation.fetch('https://shop.example/', { method: 'GET' })).rejects.toThrow('GET');
    await expect(operation.fetch('https://shop.example/', { body: 'four' })).rejects.toThrow('4 bytes');
    await expect(operation.fetch('/pay')).rejects.toThrow('baseUrl');
    expect(await pending.names()).toEqual([]);
  });

  it('credentials are never kept', async () => {
    const client = createClient({
      pending,
      fetch: offline,
      retry: { triesMax: 1 },
      headers: () => ({ 'x-token': 'hush' }),
    });
    const headers = {
      authorization: 'hush',
      cookie: 'hush',
      'x-api-key': 'hush',
      'content-type': 'text/plain',
    };
    await client.operation('pay').fetch('https://shop.example/', { body: '5', headers });
    const kept = await pending.read('pay');
    expect(kept).not.toContain('hush');
    expect(kept).toContain('text/plain');
  });
});
