/** Signed times of requests: what is fresh, and what a recorded request is worth. */

import { createHmac } from 'node:crypto';
import { OptionsError } from 'samekey';
import { timeSigner } from 'samekey/guard';
import { memoryStore } from 'samekey/stores/memory';
import { describe, expect, it } from 'vitest';
import type { FreshnessOptions } from '../../src/http/freshness.ts';
import type { RouteOptions } from '../../src/http/route.ts';
import { createSamekey } from '../../src/samekey.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';
import { faultyStore } from '../../../testing/src/faulty-store.ts';
import { type Asked, type Became, codeOf, exchangeOf } from '../http/fake-exchange.ts';

const OLD = new Uint8Array(32).fill(1);
const NEW = new Uint8Array(32).fill(2);
const WINDOW_MS = 60_000;
const SKEW_MS = 5_000;

function setup(more: Partial<FreshnessOptions<string>> = {}, options: Partial<RouteOptions<string>> = {}) {
  const world = fakeWorld();
  const calls: string[] = [];
  const store = faultyStore(memoryStore({ now: () => world.wallNow() }), {
    timers: world,
    plan({ verb }) {
      calls.push(verb);
      return null;
    },
  });
  const samekey = createSamekey({ store, world, replayCacheBytesMax: 0 });
  const freshness = { secrets: { old: OLD }, windowMs: WINDOW_MS, skewMs: SKEW_MS, ...more };
  const send = (asked: Asked): Promise<Became> => exchangeOf(samekey, { freshness, ...options }, asked);
  /** As a client signs and sends it `ageMs` ago. */
  async function signed(
    key = 'key-1',
    { ageMs = 0, name = 'old', secret = OLD, url = '/things', method = 'POST' } = {},
  ): Promise<readonly (readonly [string, string])[]> {
    const sign = timeSigner({ name, secret, now: () => world.wallNow() - ageMs });
    return [['Idempotency-Key', key], await sign({ method, url, key })];
  }
  return { world, calls, store, send, signed };
}

const faultOf = ({ answer }: Became): unknown =>
  (JSON.parse(new TextDecoder().decode(answer?.body ?? undefined)) as { fault?: unknown }).fault;

it('a signed request runs, and a retry that is signed anew is replayed', async () => {
  const { send, signed, world } = setup();
  expect((await send({ headers: await signed() })).end).toBe('released');
  await world.advance(WINDOW_MS);
  expect((await send({ headers: await signed() })).answer?.status).toBe(201);
});

it('a request that is too old is refused before its body is read and before the store is asked', async () => {
  const { send, signed, calls } = setup();
  const stale = await send({ headers: await signed('key-1', { ageMs: WINDOW_MS + 1_000 }) });
  expect([codeOf(stale), stale.answer?.status, stale.calls]).toEqual(['request-too-old', 400, ['replaced']]);
  expect(calls).toEqual([]);
  expect((await send({ headers: await signed('key-1', { ageMs: WINDOW_MS }) })).end).toBe('released');
});

it('a request from the future is refused beyond the skew, and taken within it', async () => {
  const { send, signed } = setup();
  const ahead = await send({ headers: await signed('key-1', { ageMs: -SKEW_MS - 1_000 }) });
  expect([codeOf(ahead), faultOf(ahead)]).toEqual(['request-time-invalid', 'in-future']);
  expect((await send({ headers: await signed('key-1', { ageMs: -SKEW_MS }) })).end).toBe('released');
});

it('a recorded request is of no use once its key is forgotten', async () => {
  const { send, signed, world, store } = setup({}, { retentionMs: WINDOW_MS + SKEW_MS });
  const recorded = await signed('key-1', { ageMs: -SKEW_MS });
  expect((await send({ headers: recorded })).end).toBe('released');
  // While it is fresh, it meets its record.
  await world.advance(WINDOW_MS + SKEW_MS - 1);
  expect((await store.reap(10)).count).toBe(0);
  expect((await send({ headers: recorded })).answer?.status).toBe(201);
  await world.advance(1_001);
  await store.reap(10);
  expect(await store.list({})).toEqual([]);
  const again = await send({ headers: recorded });
  expect([codeOf(again), again.calls]).toEqual(['request-too-old', ['replaced']]);
});

describe('a signature', () => {
  it.each<[string, Asked, string]>([
    ['another method', { method: 'PATCH' }, 'key-1'],
    ['another path', { path: '/things/2' }, 'key-1'],
    ['another query', { query: 'dry=1' }, 'key-1'],
    ['another key', {}, 'key-2'],
  ])('is not good for %s', async (_, asked, key) => {
    const { send, signed } = setup();
    const [, time] = await signed();
    const headers = [['Idempotency-Key', key] as const, ...(time === undefined ? [] : [time])];
    const refused = await send({ ...asked, headers });
    expect([codeOf(refused), faultOf(refused), refused.calls]).toEqual([
      'request-time-invalid',
      'not-signed',
      ['replaced'],
    ]);
  });

  it('is not good for another time, under another secret, or under a name nobody knows', async () => {
    const { send, signed, world } = setup();
    const [key, [name, value]] = (await signed()) as [readonly [string, string], readonly [string, string]];
    const later = value.replace(/t=\d+/, `t=${Math.floor(world.wallNow() / 1_000) + 1}`);
    for (const headers of [
      [key, [name, later] as const],
      await signed('key-1', { secret: NEW }),
      await signed('key-1', { name: 'toString' }),
      await signed('key-1', { name: 'unknown' }),
    ]) {
      expect(faultOf(await send({ headers }))).toBe('not-signed');
    }
  });

  it('covers the query, and is what HMAC-SHA-256 of the documented lines is', async () => {
    const { send, world } = setup();
    const time = Math.floor(world.wallNow() / 1_000);
    const lines = ['samekey-time-v1', String(time), 'POST', '/things?dry=1&a=%2F', 'key-1'].join('\n');
    const v1 = createHmac('sha256', OLD).update(lines).digest('hex');
    const headers = [
      ['Idempotency-Key', '"key-1"'],
      ['Samekey-Time', `t=${time},k=old,v1=${v1}`],
    ] as const;
    expect((await send({ headers, query: 'dry=1&a=%2F' })).end).toBe('released');
  });

  it('is asked for by its own fault when it is missing, sent twice, or not readable', async () => {
    const { send, signed } = setup();
    const [key, time] = (await signed()) as [readonly [string, string], readonly [string, string]];
    const faults = [];
    for (const headers of [[key], [key, time, time], [key, ['Samekey-Time', 'yesterday'] as const]]) {
      faults.push(faultOf(await send({ headers })));
    }
    expect(faults).toEqual(['missing', 'several', 'malformed']);
  });
});

it('secrets change one after the other: both are taken until the old one is gone', async () => {
  const both = setup({ secrets: { old: OLD, new: NEW } });
  expect((await both.send({ headers: await both.signed('a') })).end).toBe('released');
  const renewed = await both.signed('b', { name: 'new', secret: NEW });
  expect((await both.send({ headers: renewed })).end).toBe('released');
  const one = setup({ secrets: { new: NEW } });
  expect(faultOf(await one.send({ headers: await one.signed('a') }))).toBe('not-signed');
});

it('each caller may have secrets of its own, and cannot sign with another one’s', async () => {
  const bench = setup({ secrets: async (who: string) => (who === 'acme' ? { main: OLD } : { main: NEW }) });
  const headers = await bench.signed('a', { name: 'main' });
  expect((await bench.send({ headers, native: 'acme' })).end).toBe('released');
  expect(faultOf(await bench.send({ headers, native: 'umbrella' }))).toBe('not-signed');
});

it('a window that is longer than a key is remembered, and secrets that are none, are refused at start', async () => {
  const { send } = setup({ windowMs: 120_000 }, { retentionMs: 60_000 });
  await expect(send({})).rejects.toThrow(/a recorded request could run again/);
  await expect(setup({ secrets: {} }).send({})).rejects.toThrow(OptionsError);
  await expect(setup({ secrets: { a: new Uint8Array(8) } }).send({})).rejects.toThrow(/8 bytes/);
  await expect(setup({}, { required: false }).send({})).rejects.toThrow(/run unsigned/);
  expect(() => timeSigner({ name: 'a b', secret: OLD })).toThrow(OptionsError);
});
