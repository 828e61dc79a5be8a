/** One device, more than one user: what is whose, what is dropped when they sign out, and what must not be. */

import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ClientEvent,
  type ClientOptions,
  createClient,
  type PendingStore,
} from '../../../client/src/index.ts';
import { memoryPending } from '../../../client/src/memory.ts';
import { sealedPending, withoutSecrets } from '../../../client/src/kept-secrets.ts';
import { type Fault, type Shop, startShop } from '../processes/client-shop.ts';

let shop: Shop;
beforeEach(async () => {
  shop = await startShop();
});
afterEach(() => shop.close());

function clientOf(options: Partial<ClientOptions> = {}): ReturnType<typeof createClient> {
  return createClient({
    baseMs: 5,
    capMs: 20,
    baseUrl: shop.url,
    subject: 'alice',
    pending: memoryPending(),
    whenDone: 'same',
    ...options,
  });
}

const euros = (amount: number): RequestInit => ({ body: JSON.stringify({ amount }) });

/** All that is kept, with bodies as they were. */
async function textOf(pending: PendingStore): Promise<string> {
  const text = JSON.stringify(await pending.rows(''));
  return text.replaceAll(/body\\":\\"([\w+/=]*)/g, (_all, body: string) => atob(body));
}

const problem = (status: number, code: string): Fault => ({
  status,
  headers: { 'content-type': 'application/problem+json' },
  body: JSON.stringify({ type: `https://samekey.example/errors#${code}`, status, code, retryable: false }),
});

const single = { triesMax: 1 };
const consented = { consented: true } as const;

const payment = (amount: number): RequestInit => ({
  body: JSON.stringify({ amount, card: { cvc: 'cvc-737' } }),
});
const newKey = (): Promise<CryptoKey> =>
  crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']);

const inCurrency = (currency: string): RequestInit => ({
  ...euros(5),
  headers: { 'x-currency': currency },
});

describe('another user', () => {
  it('sees nothing: neither the answer of an equal call, nor what is open; and no name is kept (F84)', async () => {
    const pending = memoryPending();
    const [alice, bob] = ['alice@example.com', 'bob@example.com'].map((subject) =>
      clientOf({ pending, subject, ...single }),
    );
    expect(await alice?.operation('pay').fetch('/pay', euros(5))).toMatchObject({ why: 'first' });
    shop.faults.push('lose-reply');
    expect(await alice?.operation('send').fetch('/pay', euros(9))).toMatchObject({ why: 'no-answer' });
    expect(await bob?.resume()).toEqual([]);
    expect(await bob?.resume({ operations: ['send'] })).toEqual([]);
    expect(await bob?.operation('pay').fetch('/pay', euros(5))).toMatchObject({ why: 'first', tries: 1 });
    expect(await bob?.operation('send').discard(consented)).toBe(false);
    await bob?.clear({ unsettled: true });
    expect(await alice?.resume()).toMatchObject([{ operation: 'send', wasSent: true }]);
    expect(shop.payments).toHaveLength(3);
    expect(new Set(shop.keys).size).toBe(3);
    expect(await textOf(pending)).not.toMatch(/alice|bob/);
  });
});

describe('when a user signs out', () => {
  it('requests and answers are dropped, and what is done stays done without them', async () => {
    const pending = memoryPending();
    shop.answer = { status: 201, body: { card: 'visa-4242' } };
    const before = clientOf({ pending, ...single });
    const call = { headers: { 'content-language': 'hush' }, ...euros(7_007) };
    await before.operation('pay').fetch('/pay?who=hush', call);
    shop.faults.push('lose-reply');
    await before.operation('lost').fetch('/pay?who=hush', call);
    expect(await textOf(pending)).toMatch(/visa-4242[^]*"amount":7007|"amount":7007[^]*visa-4242/);
    await before.clear();
    const left = await textOf(pending);
    expect(left).not.toMatch(/visa-4242|"amount":7007|hush/);
    const paid = await clientOf({ pending }).operation('pay').fetch('/pay?who=hush', call);
    expect(paid).toMatchObject({ outcome: 'done', why: 'kept', next: 'look-up', response: null, tries: 0 });
    expect(shop.payments).toHaveLength(2);
  });

  it('who lost an answer, signs out, in and pays again, pays under the same key', async () => {
    const pending = memoryPending();
    shop.faults.push('lose-reply');
    const before = clientOf({ pending, ...single });
    expect(await before.operation('pay').fetch('/pay', euros(5))).toMatchObject({ why: 'no-answer' });
    await before.clear();
    const after = clientOf({ pending });
    const [left] = await after.resume();
    // It is shown, and nobody can send what is not there.
    expect(left).toMatchObject({ operation: 'pay', wasSent: true, canGoOn: false, method: '', url: '' });
    expect(await left?.goOn()).toMatchObject({ outcome: 'unknown', why: 'cleared', next: 'wait', tries: 0 });
    expect(await after.operation('pay').fetch('/pay', euros(6))).toMatchObject({ why: 'other-request' });
    expect(await after.operation('pay').fetch('/pay', euros(5))).toMatchObject({ why: 'replayed' });
    expect(shop.payments).toHaveLength(1);
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('an answer that comes afterwards is noted, and given to nobody', async () => {
    const store = memoryPending();
    const written: (string | null)[] = [];
    const pending: PendingStore = {
      ...store,
      swap(name, before, next) {
        written.push(next);
        return store.swap(name, before, next);
      },
    };
    const held = new AbortController();
    shop.hold = new Promise((resolve) => held.signal.addEventListener('abort', () => resolve()));
    shop.answer = { status: 201, body: { card: 'visa-4242' } };
    // The second is another tab, which nobody has told.
    const [before, tab] = [clientOf({ pending }), clientOf({ pending })];
    const calls = [before, tab].map((client, at) => client.operation(`pay-${at}`).fetch('/pay', euros(at)));
    await shop.begun(2);
    await before.clear();
    written.length = 0;
    held.abort();
    for (const told of await Promise.all(calls))
      expect(told).toMatchObject({ outcome: 'unknown', why: 'cleared', next: 'wait', response: null });
    // Not even for a moment.
    expect(written.join()).not.toMatch(/"body":"/);
    expect(await textOf(pending)).not.toContain('visa-4242');
    const after = clientOf({ pending });
    expect(await after.resume()).toEqual([]);
    for (const at of [0, 1])
      expect(await after.operation(`pay-${at}`).fetch('/pay', euros(at))).toMatchObject({
        why: 'kept',
        tries: 0,
      });
    expect(shop.payments).toHaveLength(2);
  });

  it('nothing more leaves under somebody else’s credentials, in no tab', async () => {
    const pending = memoryPending();
    const sent: (string | null)[] = [];
    let user = 'alice';
    const options: Partial<ClientOptions> = {
      pending,
      headers: () => ({ authorization: user }),
      async fetch(url, init) {
        sent.push(new Headers(init.headers).get('authorization'));
        return fetch(url, init);
      },
    };
    shop.faults.push('cut', 'cut');
    let hasWaited = 0;
    const both = new AbortController();
    const onEvent = ({ type }: ClientEvent): void => {
      if (type === 'waiting' && (hasWaited += 1) === 2) both.abort();
    };
    // Long enough for the user to change between two tries.
    const retry = { baseMs: 4_000, capMs: 4_000 };
    const world = { ...slowWorld(), random: () => 0.05 };
    const [before, tab] = [
      clientOf({ ...options, onEvent, ...retry, world }),
      clientOf({ ...options, onEvent, ...retry, world }),
    ];
    const calls = [before, tab].map((client, at) => client.operation(`pay-${at}`).fetch('/pay', euros(at)));
    await once(both.signal, 'abort');
    user = 'bob';
    await before.clear();
    for (const told of await Promise.all(calls))
      expect(told).toMatchObject({ outcome: 'unknown', why: 'cleared', tries: 1 });
    expect(sent).toEqual(['alice', 'alice']);
    // And the client is at its end.
    expect(await before.operation('pay-2').fetch('/pay', euros(5))).toMatchObject({
      why: 'cleared',
      tries: 0,
    });
    expect(sent).toHaveLength(2);
  });

  it('what was never sent is given up', async () => {
    const pending = memoryPending();
    const before: ReturnType<typeof createClient> = clientOf({
      pending,
      async headers() {
        await before.clear();
        return {};
      },
    });
    expect(await before.operation('pay').fetch('/pay', euros(5))).toMatchObject({ why: 'cleared', tries: 0 });
    expect(await clientOf({ pending }).resume()).toEqual([]);
    expect(shop.keys).toHaveLength(0);
  });

  it('what waited for its turn, or was entered meanwhile, leaves nothing on the device', async () => {
    const store = memoryPending();
    const held = new AbortController();
    shop.hold = new Promise((resolve) => held.signal.addEventListener('abort', () => resolve()));
    // A store that writes late.
    const pending: PendingStore = {
      ...store,
      async swap(name, expected, next) {
        if (name.endsWith('late') && !held.signal.aborted) await once(held.signal, 'abort');
        return store.swap(name, expected, next);
      },
    };
    const before = clientOf({ pending });
    shop.answer = { status: 402, body: {} };
    const calls = [1, 2].map(() => before.operation('pay').fetch('/pay', euros(7_007)));
    calls.push(before.operation('late').fetch('/pay', euros(7_007)));
    await shop.begun(1);
    await before.clear();
    held.abort();
    for (const told of await Promise.all(calls)) expect(told).toMatchObject({ why: 'cleared' });
    expect(await textOf(store)).not.toContain('"amount":7007');
    expect(await clientOf({ pending }).resume()).toEqual([]);
    expect(shop.payments).toHaveLength(1);
  });

  it('the unsettled is given up with their consent only, and a misspelt consent is none', async () => {
    const pending = memoryPending();
    shop.faults.push('lose-reply');
    const before = clientOf({ pending, ...single });
    await before.operation('pay').fetch('/pay', euros(5));
    await expect(before.clear({ unsetled: true } as never)).rejects.toThrow('unsetled is no option here');
    await before.clear({ unsettled: true });
    const after = clientOf({ pending });
    expect(await after.resume()).toEqual([]);
    expect(await after.operation('pay').fetch('/pay', euros(5))).toMatchObject({ why: 'first' });
    expect(new Set(shop.keys).size).toBe(2);
  });

  it('a store that fails is told, and nothing leaves all the same; what can be written is', async () => {
    const store = memoryPending();
    const pending: PendingStore = {
      ...store,
      swap: async (name, expected, next) => {
        if (isBroken && name.endsWith('pay-0')) throw new Error('disk full');
        return store.swap(name, expected, next);
      },
    };
    let isBroken = false;
    const before = clientOf({ pending, ...single });
    shop.faults.push('lose-reply', 'lose-reply');
    for (const at of [0, 1]) await before.operation(`pay-${at}`).fetch('/pay', euros(7_000 + at));
    isBroken = true;
    await expect(before.clear()).rejects.toThrow('disk full');
    expect(await textOf(store)).toContain('"amount":7000');
    expect(await textOf(store)).not.toContain('"amount":7001');
    expect(await before.operation('pay-0').fetch('/pay', euros(7_000))).toMatchObject({ why: 'cleared' });
    expect(shop.keys).toHaveLength(2);
  });
});

describe('secrets', () => {
  it('what has a member that is named is left out, and only the same call goes on, under its key', async () => {
    const store = memoryPending();
    const pending = withoutSecrets(store, ['cvc']);
    shop.faults.push('cut', 'cut');
    const before = clientOf({ pending, ...single });
    await before.operation('pay').fetch('/pay', payment(5));
    await before.operation('plain').fetch('/pay', euros(7_007));
    await before.operation('form').fetch('/pay', { body: new URLSearchParams({ cvc: 'cvc-737' }) });
    expect(await textOf(store)).not.toContain('cvc-737');
    expect(await textOf(store)).toContain('"amount":7007');
    const after = clientOf({ pending });
    const [pay, plain] = await after.resume({ operations: ['pay', 'plain'] });
    expect([pay?.canGoOn, plain?.canGoOn]).toEqual([false, true]);
    expect(await pay?.goOn()).toMatchObject({ outcome: 'unknown', why: 'cleared', next: 'wait', tries: 0 });
    shop.answer = { status: 201, body: { cvc: 'cvc-737' } };
    expect(await after.operation('pay').fetch('/pay', payment(5))).toMatchObject({ outcome: 'done' });
    expect(await after.operation('pay').fetch('/pay', payment(5))).toMatchObject({ next: 'look-up' });
    expect(await textOf(store)).not.toContain('cvc-737');
    expect(new Set(shop.keys).size).toBe(3);
    // A refusal that speaks of one request alone still does.
    shop.faults.push(problem(400, 'request-invalid'));
    expect(await after.operation('next').fetch('/pay', payment(6))).toMatchObject({ why: 'never-ran' });
    expect(() => withoutSecrets(store, [])).toThrow('Name the members');
  });

  it('what is sealed goes on with the key of the session, and without it by the same call', async () => {
    const store = memoryPending();
    const key = await newKey();
    const page = (sealing: CryptoKey) => clientOf({ pending: sealedPending(store, sealing), ...single });
    shop.faults.push('cut', 'lose-reply');
    await page(key).operation('pay').fetch('/pay?who=alice', payment(7_007));
    await page(key).operation('other').fetch('/pay', payment(7_007));
    expect(await textOf(store)).not.toMatch(/cvc-737|"amount":7007|who=alice/);
    const lost = await page(await newKey()).resume();
    expect(lost).toMatchObject([{ canGoOn: false, url: '' }, { canGoOn: false }]);
    const [pay] = await page(key).resume({ operations: ['pay'] });
    expect(await pay?.goOn()).toMatchObject({ why: 'first' });
    const again = await page(key).operation('pay').fetch('/pay?who=alice', payment(7_007));
    expect(await again.response?.json()).toEqual({ paid: true, number: 2 });
    expect(
      await page(await newKey())
        .operation('pay')
        .fetch('/pay?who=alice', payment(7_007)),
    ).toMatchObject({
      outcome: 'done',
      next: 'look-up',
    });
    const unlocked = page(await newKey());
    expect(await unlocked.operation('other').fetch('/pay', payment(7_007))).toMatchObject({
      why: 'replayed',
    });
    expect(await textOf(store)).not.toMatch(/cvc-737|"amount":7007|who=alice/);
    expect(shop.payments).toHaveLength(2);
    expect(new Set(shop.keys).size).toBe(2);
    expect(() => sealedPending(store, 'hush' as never)).toThrow('AES-GCM');
  });
});

describe('headers that decide', () => {
  const decidingHeaders = ['X-Currency', 'X-Account'];
  it('another currency is another request (F130)', async () => {
    shop.faults.push('cut');
    const client = clientOf({ decidingHeaders, ...single });
    await client.operation('pay').fetch('/pay', inCurrency('USD'));
    expect(await client.operation('pay').fetch('/pay', inCurrency('EUR'))).toMatchObject({
      outcome: 'unknown',
      why: 'other-request',
    });
    expect(await client.operation('pay').fetch('/pay', inCurrency('USD'))).toMatchObject({ why: 'first' });
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('they are sent again as they were, be they of the call or of the client; credentials are not kept', async () => {
    const pending = memoryPending();
    const sent: [string | null, string | null, string | null][] = [];
    const page = (account: string, token: string): ReturnType<typeof createClient> =>
      clientOf({
        pending,
        decidingHeaders,
        ...single,
        headers: () => ({ 'x-account': account, authorization: token }),
        async fetch(url, init) {
          const headers = new Headers(init.headers);
          sent.push([headers.get('x-currency'), headers.get('x-account'), headers.get('authorization')]);
          return fetch(url, init);
        },
      });
    shop.faults.push('cut');
    await page('savings', 'token-1').operation('pay').fetch('/pay', inCurrency('USD'));
    expect(await textOf(pending)).not.toContain('token-1');
    // The person has chosen another account meanwhile, and the token is a new one.
    const [left] = await page('current', 'token-2').resume();
    expect(await left?.goOn()).toMatchObject({ why: 'first' });
    expect(sent).toEqual([
      ['USD', 'savings', 'token-1'],
      ['USD', 'savings', 'token-2'],
    ]);
  });
});

it('a header that decides and was not there is not sent, nor comes later', async () => {
  const pending = memoryPending();
  const sent: (string | null)[] = [];
  let account: HeadersInit = {};
  const client = clientOf({
    pending,
    ...single,
    decidingHeaders: ['x-account'],
    headers: () => account,
    async fetch(url, init) {
      sent.push(new Headers(init.headers).get('x-account'));
      return fetch(url, init);
    },
  });
  shop.faults.push('cut');
  await client.operation('pay').fetch('/pay', euros(5));
  account = { 'x-account': 'savings' };
  const [left] = await client.resume();
  await left?.goOn();
  expect(sent).toEqual([null, null]);
});

it('how a request is sent is kept with its row: credentials, and that no redirect is followed (F137)', async () => {
  const pending = memoryPending();
  const sent: [string | undefined, string | undefined][] = [];
  const client = clientOf({
    pending,
    ...single,
    async fetch(url, init) {
      sent.push([init.credentials, init.redirect]);
      return fetch(url, init);
    },
  });
  shop.faults.push('cut', { status: 307, headers: { location: '/pay' } });
  await client.operation('pay').fetch('/pay', { ...euros(5), credentials: 'omit', redirect: 'error' });
  const [left] = await client.resume();
  expect(await left?.goOn()).toMatchObject({ outcome: 'unknown', why: 'redirected' });
  expect(sent).toEqual([
    ['omit', 'manual'],
    ['omit', 'manual'],
  ]);
});

function slowWorld(): NonNullable<ClientOptions['world']> {
  return {
    wallNow: () => Date.now(),
    monotonicNow: () => performance.now(),
    random: () => 0.5,
    setTimer(delayMs, callback) {
      const timer = setTimeout(callback, delayMs);
      return { cancel: () => clearTimeout(timer) };
    },
    sha256: async (bytes) =>
      Buffer.from(await crypto.subtle.digest('SHA-256', bytes as BufferSource)).toString('base64url'),
    warn: () => undefined,
  };
}
