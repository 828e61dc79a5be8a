/** A sign-out that meets a call half-way: in this tab, in another one, and in a store that holds more than one reads. */

import { once } from 'node:events';
import { afterEach, expect, it, vi } from 'vitest';
import { type ClientOptions, createClient } from '../../../client/src/index.ts';
import { memoryPending } from '../../../client/src/memory.ts';
import { sealedPending } from '../../../client/src/kept-secrets.ts';

afterEach(() => vi.unstubAllGlobals());

const five: RequestInit = { body: '{"amount":5}' };

function gate(): { promise: Promise<unknown>; resolve: () => void } {
  const control = new AbortController();
  return { promise: once(control.signal, 'abort'), resolve: () => control.abort() };
}

const newKey = (): Promise<CryptoKey> =>
  crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']);

/** A shop that notes whose credentials each request had; `answers`: null is lost. Where none is left, it is done. */
function shopOf(answers: (Response | Promise<Response> | null)[] = []) {
  const at = {
    user: 'alice',
    sent: [] as (string | null)[],
    page: (options: Partial<ClientOptions>) =>
      createClient({
        baseUrl: 'https://shop.example',
        subject: 'alice',
        pending: memoryPending(),
        whenDone: 'same',
        headers: () => ({ 'x-user': at.user }),
        triesMax: 1,
        ...options,
        async fetch(_url, init) {
          at.sent.push(new Headers(init.headers).get('x-user'));
          const answer = answers.shift();
          if (answer === null) throw new TypeError('fetch failed');
          return (await answer) ?? new Response('{"card":"visa-4242"}', { status: 201 });
        },
      }),
  };
  return at;
}

it('a store that is late to say that a request may leave is told after the sign-out: it does not leave', async () => {
  for (const late of ['swap', 'read']) {
    const store = memoryPending();
    const isCleared = gate();
    const shop = shopOf();
    let reads = 0;
    // What it did is done; its word comes late.
    const clear = (): Promise<void> => page.clear().then(isCleared.resolve);
    const page = shop.page({
      pending: {
        ...store,
        async swap(name, expected, next) {
          const isTaken = await store.swap(name, expected, next);
          if (late === 'swap' && next?.includes('"stage":"sent","request":{') === true) await clear();
          return isTaken;
        },
        async read(name) {
          const text = await store.read(name);
          // That of the last sign-out, before the request leaves.
          if (late === 'read' && name.endsWith(':') && (reads += 1) === 2) await clear();
          return text;
        },
      },
    });
    const told = page.operation('pay').fetch('/pay', five);
    await isCleared.promise;
    shop.user = 'bob';
    expect(await told).toMatchObject({ outcome: 'unknown', why: 'cleared', tries: 0 });
    expect(shop.sent).toEqual([]);
    expect(JSON.stringify(await store.rows(''))).not.toContain('isWhole');
  }
});

it('what another tab has waiting for its turn does not leave with the next user’s credentials', async () => {
  const pending = memoryPending();
  const [waits, turn] = [gate(), gate()];
  const lost = gate();
  const shop = shopOf([lost.promise.then(() => Promise.reject(new TypeError('fetch failed')))]);
  const one = shop.page({ pending });
  const first = one.operation('pay').fetch('/pay', five);
  await vi.waitUntil(() => shop.sent.length === 1);
  const request = async (_name: string, _options: object, body: () => unknown): Promise<unknown> => {
    waits.resolve();
    await turn.promise;
    return body();
  };
  vi.stubGlobal('navigator', { locks: { request } });
  const other = shop.page({ pending });
  const [left] = await other.resume();
  const second = other.operation('pay').fetch('/pay', five);
  await waits.promise;
  await one.clear();
  shop.user = 'bob';
  lost.resolve();
  turn.resolve();
  for (const told of await Promise.all([first, second])) expect(told).toMatchObject({ why: 'cleared' });
  // Nor is it what was shown open to who has left.
  expect(await left?.goOn()).toBeNull();
  expect(shop.sent).toEqual(['alice']);
  expect(JSON.stringify(await pending.rows(''))).not.toContain('isWhole');
  expect(await shop.page({ pending }).operation('pay').fetch('/pay', five)).toMatchObject({ why: 'first' });
});

it('nor does what another tab had not entered yet, or meant a second time', async () => {
  for (const whenDone of ['same', 'again'] as const) {
    const store = memoryPending();
    const [waits, turn] = [gate(), gate()];
    let reads = 0;
    const shop = shopOf();
    const one = shop.page({ pending: store });
    if (whenDone === 'again') await one.operation('pay').fetch('/pay', five);
    const before = shop.sent.length;
    const other = shop.page({
      whenDone,
      pending: {
        ...store,
        async read(name) {
          if (name.endsWith('pay') && (reads += 1) === 2) {
            waits.resolve();
            await turn.promise;
          }
          return store.read(name);
        },
      },
    });
    const told = other.operation('pay').fetch('/pay', five);
    await waits.promise;
    await one.clear();
    shop.user = 'bob';
    turn.resolve();
    expect(await told).toMatchObject({ outcome: 'unknown', why: 'cleared', tries: 0 });
    expect(shop.sent).toHaveLength(before);
    expect(JSON.stringify(await store.rows(''))).not.toMatch(/isWhole|visa/);
    expect(await shop.page({ pending: store }).resume()).toHaveLength(1);
  }
});

it('clear writes what it cannot read to the end: an answer that another session has sealed is gone', async () => {
  const store = memoryPending();
  const key = await newKey();
  const shop = shopOf();
  await shop
    .page({ pending: sealedPending(store, key) })
    .operation('pay')
    .fetch('/pay', five);
  await shop.page({ pending: sealedPending(store, await newKey()) }).clear();
  const row = await sealedPending(store, key).rows('');
  expect(JSON.parse(row.find(([name]) => name.endsWith('pay'))?.[1] ?? '')).toMatchObject({
    answer: { outcome: 'done', body: null },
  });
});
