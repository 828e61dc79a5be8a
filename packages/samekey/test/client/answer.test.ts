/** Waiting, keys and options of the client, one rule each. What answers mean is in outcome.test.ts. */

import { describe, expect, it } from 'vitest';
import { retryAfterMs } from '../../../client/src/answer.ts';
import { createClient } from '../../../client/src/index.ts';
import { memoryPending } from '../../../client/src/memory.ts';
import { withRefusals } from '../../../client/src/refusals.ts';
import { derivedKey, uuidV4, uuidV7 } from '../../../client/src/keys/index.ts';
import { looksLikeCounter } from '../../../client/src/keys.ts';
import { checkKey } from '../../src/core/key.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';

const paid = async (): Promise<Response> => new Response('', { status: 201 });
const offline = async (): Promise<Response> => Promise.reject(new Error('offline'));

it('Retry-After is read in seconds and as a date', () => {
  const now = Date.UTC(2026, 0, 1);
  const read = (headers: Record<string, string>): number | null => retryAfterMs(new Headers(headers), now);
  expect(read({ 'retry-after': '7' })).toBe(7_000);
  expect(read({ 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' })).toBe(30_000);
  expect(read({ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' })).toBe(0);
  expect(read({ 'retry-after': 'later' })).toBeNull();
  // F85
  expect(read({ 'retry-after': '-5' })).toBeNull();
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
      subject: 'alice',
      pending: memoryPending(),
      world,
      fetch: paid,
      baseUrl: 'https://shop.example',
      whenDone: 'same',
    });
    await client.operation('pay', { key: '42' }).fetch('/pay', { body: '5' });
    expect(world.warnings).toEqual([expect.stringContaining('SAMEKEY_COUNTER')]);
  });
});

describe('options', () => {
  const pending = memoryPending();
  it.each([
    [{}, 'pending is missing'],
    [{ pending, subject: undefined }, 'subject is missing'],
    [{ pending, subject: '' }, 'subject is missing'],
    [{ pending, profile: 'stripe' }, 'profile is wrong'],
    [{ pending, decidingHeaders: ['X-Account', 'Cookie'] }, 'Credentials'],
    [{ pending, timeMaxMs: 0 }, 'timeMaxMs is 0'],
    [{ pending, triesMax: 1.5 }, 'triesMax is 1.5'],
    [{ pending, settledKeptMs: 1_000 }, 'settledKeptMs is 1000'],
    // F87: at every depth.
    [{ pending, retry: { triesMax: 3 } }, 'retry is no option here'],
    [{ pending, live: new Map() }, 'live is no option here'],
    [{ pending, whenDone: 'never' }, 'whenDone is'],
  ])('%j is refused', (options, message) => {
    expect(() => createClient({ subject: 'alice', ...options } as never)).toThrow(message);
  });

  it.each([
    [{ status: 422, codes: [] }, 'codes is no option here'],
    [{ status: 500 }, 'status of 4xx'],
  ])('a refusal that is %j is refused', (refusal, message) => {
    expect(() => withRefusals([refusal as never])).toThrow(message);
  });

  it('a GET, a body that is too large and a relative address without a base are no operations', async () => {
    const operation = createClient({
      subject: 'alice',
      pending,
      bodySizeMaxBytes: 3,
      whenDone: 'same',
    }).operation('pay');
    await expect(operation.fetch('https://shop.example/', { method: 'GET' })).rejects.toThrow('GET');
    await expect(operation.fetch('https://shop.example/', { body: 'four' })).rejects.toThrow('4 bytes');
    await expect(operation.fetch('/pay')).rejects.toThrow('baseUrl');
    // F139: never sent as "[object Object]".
    await expect(operation.fetch('https://shop.example/', { body: {} as never })).rejects.toThrow('no body');
    // F137: nobody could read its answer.
    await expect(operation.fetch('https://shop.example/', { mode: 'no-cors' })).rejects.toThrow('no-cors');
    expect(await pending.rows('')).toEqual([]);
  });

  it('outside of a page nobody can be asked, so what an equal call means has to be said', () => {
    const client = createClient({ subject: 'alice', pending });
    expect(() => client.operation('pay')).toThrow('whenDone is missing');
    expect(() => client.operation('pay', { whenDone: 'never' as never })).toThrow('whenDone is');
    expect(() => client.operation('pay', { when: 'same' } as never)).toThrow('when is no option here');
    // A key of one's own never changes: there is nothing to say.
    expect(client.operation('pay', { key: uuidV4() }).name).toBe('pay');
  });

  it('credentials are never kept', async () => {
    const client = createClient({
      subject: 'alice',
      pending,
      fetch: offline,
      whenDone: 'same',
      triesMax: 1,
      headers: () => ({ 'x-token': 'hush' }),
    });
    const headers = {
      authorization: 'hush',
      cookie: 'hush',
      'x-api-key': 'hush',
      'content-type': 'text/plain',
    };
    await client.operation('pay').fetch('https://shop.example/', { body: '5', headers });
    const kept = JSON.stringify(await pending.rows(''));
    expect(kept).not.toContain('hush');
    expect(kept).toContain('text/plain');
  });
});
