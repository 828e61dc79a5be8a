/** The client against a real shop: what it keeps, what it sends again and what it never does. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ClientEvent,
  type ClientOptions,
  createClient,
  memoryPending,
  type PendingStore,
  uuidV4,
} from '../../../client/src/index.ts';
import { type Fault, type Shop, startShop } from '../processes/client-shop.ts';

let shop: Shop;
beforeEach(async () => {
  shop = await startShop();
});
afterEach(() => shop.close());

function clientOf(options: Partial<ClientOptions> = {}): ReturnType<typeof createClient> {
  const retry = { baseMs: 5, capMs: 20, ...options.retry };
  return createClient({ baseUrl: shop.url, pending: memoryPending(), ...options, retry });
}

const euros = (amount: number): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ amount }),
});

const problem = (status: number, code: string): Fault => ({
  status,
  headers: { 'content-type': 'application/problem+json' },
  body: JSON.stringify({ code, retryable: false }),
});

describe('one key an operation', () => {
  it('a lost reply is asked for again under the same key, and the payment is made once', async () => {
    // F17, F18: what the handler answered decides, not what was delivered.
    shop.faults.push('lose-reply');
    const result = await clientOf().operation('pay-invoice-42').fetch('/pay', euros(5));
    expect(result).toMatchObject({ kind: 'replayed', from: 'server', tries: 2 });
    expect(shop.payments).toHaveLength(1);
    expect(new Set(shop.keys).size).toBe(1);
    expect('response' in result && result.response !== null && (await result.response.json())).toEqual({
      paid: true,
      number: 1,
    });
  });

  it('a reload in the middle goes on under the same key', async () => {
    // F23: the page that made the key is gone; only the pending store is left.
    const pending = memoryPending();
    shop.faults.push('lose-reply');
    const before = clientOf({ pending, retry: { triesMax: 1 } });
    expect(await before.operation('pay').fetch('/pay', euros(5))).toMatchObject({ kind: 'unreachable' });
    const after = clientOf({ pending });
    expect(await after.pending()).toMatchObject([
      { operation: 'pay', method: 'POST', url: `${shop.url}pay` },
    ]);
    expect(await after.resume()).toMatchObject([{ operation: 'pay', kind: 'replayed' }]);
    expect(await after.pending()).toEqual([]);
    expect(shop.payments).toHaveLength(1);
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('a double click makes one payment, and both clicks get its answer', async () => {
    const operation = clientOf().operation('pay');
    const both = await Promise.all([operation.fetch('/pay', euros(5)), operation.fetch('/pay', euros(5))]);
    expect(both.map(({ kind }) => kind).toSorted()).toEqual(['first', 'replayed']);
    expect(shop.payments).toHaveLength(1);
    expect(shop.keys).toHaveLength(1);
  });

  it('an equal call after the answer gets the answer that was kept, without a request', async () => {
    const operation = clientOf().operation('pay');
    await operation.fetch('/pay', euros(5));
    const again = await operation.fetch('/pay', euros(5));
    expect(again).toMatchObject({ kind: 'replayed', from: 'kept', tries: 0 });
    expect(shop.keys).toHaveLength(1);
  });

  it('the same payment twice on purpose is two keys and runs twice', async () => {
    // F24.
    const operation = clientOf().operation('pay');
    await operation.fetch('/pay', euros(5));
    expect(await operation.startNew()).toBe('settled');
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ kind: 'first' });
    expect(shop.payments).toHaveLength(2);
    expect(new Set(shop.keys).size).toBe(2);
  });

  it('two clients on one pending store, without locks between them, send one key', async () => {
    const pending = memoryPending();
    const results = await Promise.all(
      [clientOf({ pending }), clientOf({ pending }), clientOf({ pending })].map((client) =>
        client.operation('pay').fetch('/pay', euros(5)),
      ),
    );
    expect(results.every(({ kind }) => kind === 'first' || kind === 'replayed')).toBe(true);
    expect(new Set(shop.keys).size).toBe(1);
    expect(shop.payments).toHaveLength(1);
  });

  it('a key that was made with the job is sent, and after a restart again', async () => {
    const key = uuidV4();
    const once = await clientOf().operation('job-7', { key }).fetch('/pay', euros(5));
    const twice = await clientOf().operation('job-7', { key }).fetch('/pay', euros(5));
    expect([once.kind, twice.kind]).toEqual(['first', 'replayed']);
    expect(new Set(shop.keys)).toEqual(new Set([`"${key}"`]));
  });
});

describe('what is not sent', () => {
  it('another body under a pending operation is told, and nothing is sent', async () => {
    shop.faults.push('cut');
    const client = clientOf({ retry: { triesMax: 1 } });
    const operation = client.operation('pay');
    await operation.fetch('/pay', euros(5));
    expect(await operation.fetch('/pay', euros(6))).toMatchObject({ kind: 'other-request', tries: 0 });
    expect(shop.keys).toHaveLength(1);
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ kind: 'first' });
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('an operation that is too old is told, keeps its key and is never sent again', async () => {
    let now = Date.UTC(2030, 0);
    const world = { ...clientWorld(), wallNow: () => now };
    const events: ClientEvent[] = [];
    const client = clientOf({ world, retry: { triesMax: 1 }, onEvent: (event) => events.push(event) });
    shop.faults.push('lose-reply');
    await client.operation('pay').fetch('/pay', euros(5));
    now += 24 * 3_600_000;
    const result = await client.operation('pay').fetch('/pay', euros(5));
    expect(result).toMatchObject({ kind: 'aged-out', ageMs: 24 * 3_600_000, tries: 0 });
    expect(events).toContainEqual({ type: 'aged-out', operation: 'pay', ageMs: 24 * 3_600_000 });
    expect(shop.keys).toHaveLength(1);
    expect(await client.operation('pay').startNew()).toBe('pending');
    expect(await client.operation('pay').fetch('/pay', euros(5))).toMatchObject({ kind: 'first' });
  });

  it('what cannot be kept is not sent', async () => {
    const broken: PendingStore = { ...memoryPending(), swap: () => Promise.reject(new Error('disk full')) };
    const result = await clientOf({ pending: broken }).operation('pay').fetch('/pay', euros(5));
    expect(result).toMatchObject({ kind: 'not-kept', key: null });
    expect(shop.keys).toHaveLength(0);
  });

  it('a signal that is aborted ends the call and keeps the key', async () => {
    const control = new AbortController();
    shop.hold = new Promise((resolve) => control.signal.addEventListener('abort', () => resolve()));
    const client = clientOf({
      onEvent: (event) => event.type === 'try' && control.abort(new Error('the user left')),
    });
    const result = await client.operation('pay').fetch('/pay', { ...euros(5), signal: control.signal });
    expect(result).toMatchObject({ kind: 'aborted', reason: new Error('the user left') });
    expect(await client.pending()).toHaveLength(1);
  });
});

describe('answers', () => {
  it('408, 425, 429, 5xx and an operation in progress are asked again, under the same key', async () => {
    const inProgress = {
      status: 409,
      headers: { 'content-type': 'application/problem+json', 'retry-after': '0' },
      body: JSON.stringify({ code: 'in-progress', retryable: true }),
    };
    shop.faults.push({ status: 408 }, { status: 425 }, { status: 503 }, inProgress, { status: 429 });
    const result = await clientOf().operation('pay').fetch('/pay', euros(5));
    expect(result).toMatchObject({ kind: 'first', tries: 6 });
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('an unknown outcome is told and keeps the key', async () => {
    // F19: a 5xx under the policy `payments` is not known, and is not run again.
    shop.answer = { status: 504, body: {} };
    const client = clientOf();
    const operation = client.operation('pay');
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ kind: 'unknown' });
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ kind: 'unknown' });
    expect(shop.payments).toHaveLength(1);
    expect(new Set(shop.keys).size).toBe(1);
    expect(await client.pending()).toHaveLength(1);
  });

  it('a mismatch and a 410 are told once and keep the key', async () => {
    shop.faults.push(problem(422, 'key-reused'), problem(410, 'key-expired'));
    const operation = clientOf().operation('pay');
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ kind: 'mismatch', tries: 1 });
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ kind: 'gone', tries: 1 });
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('a replayed error is final whatever its status', async () => {
    shop.faults.push({ status: 500, headers: { 'idempotency-replayed': 'true' } });
    const result = await clientOf().operation('pay').fetch('/pay', euros(5));
    expect(result).toMatchObject({ kind: 'refused', isReplayed: true, tries: 1 });
  });

  it('a refusal frees the key: the corrected call has a new one', async () => {
    shop.answer = { status: 402, body: {} };
    const operation = clientOf().operation('pay');
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ kind: 'refused', isKeyKept: false });
    shop.answer = { status: 201, body: {} };
    expect(await operation.fetch('/pay', euros(4))).toMatchObject({ kind: 'first' });
    expect(new Set(shop.keys).size).toBe(2);
  });

  it('a refusal after a lost reply does not speak for the first request, and keeps the key', async () => {
    // The payment was made and its answer lost; then the session ended, and a proxy knows nothing of keys.
    shop.faults.push('lose-reply', { status: 403 });
    const operation = clientOf().operation('pay');
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ kind: 'refused', isKeyKept: true });
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ kind: 'replayed', from: 'server' });
    expect(shop.payments).toHaveLength(1);
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('who is not logged in keeps the key until they are', async () => {
    // F26.
    shop.faults.push({ status: 401 });
    const operation = clientOf().operation('pay');
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ kind: 'refused', isKeyKept: true });
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ kind: 'first' });
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('an answer that the server could not record is the answer, and is kept here', async () => {
    shop.faults.push({ status: 201, headers: { 'idempotency-stored': 'false' } });
    const operation = clientOf().operation('pay');
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ kind: 'first', isStored: false });
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ kind: 'replayed', from: 'kept' });
    expect(shop.keys).toHaveLength(1);
  });

  it('a server that asks for more patience than is left is believed', async () => {
    shop.faults.push({ status: 503, headers: { 'retry-after': '3600' } });
    const result = await clientOf().operation('pay').fetch('/pay', euros(5));
    expect(result).toMatchObject({ kind: 'unreachable', tries: 1, retryAfterMs: 3_600_000 });
  });
});

function clientWorld(): NonNullable<ClientOptions['world']> {
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
    warn: (code, message) => {
      throw new Error(`${code}: ${message}`);
    },
  };
}
