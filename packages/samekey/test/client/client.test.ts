/** The client against a real shop: what it keeps, what it sends again and what it never does. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ClientEvent,
  type ClientOptions,
  createClient,
  type PendingStore,
} from '../../../client/src/index.ts';
import { memoryPending } from '../../../client/src/memory.ts';
import { uuidV4 } from '../../../client/src/keys/index.ts';
import { withRefusals } from '../../../client/src/refusals.ts';
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

const euros = (amount: number): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ amount }),
});

const problem = (status: number, code: string): Fault => ({
  status,
  headers: { 'content-type': 'application/problem+json' },
  body: JSON.stringify({ type: `https://samekey.example/errors#${code}`, status, code, retryable: false }),
});

describe('one key an operation', () => {
  it('a lost reply is asked for again under the same key, and the payment is made once', async () => {
    // F17, F18: what the handler answered decides, not what was delivered.
    shop.faults.push('lose-reply');
    const result = await clientOf().operation('pay-invoice-42').fetch('/pay', euros(5));
    expect(result).toMatchObject({ outcome: 'done', why: 'replayed', next: 'show', tries: 2 });
    expect(shop.payments).toHaveLength(1);
    expect(new Set(shop.keys).size).toBe(1);
    expect(await result.response?.json()).toEqual({ paid: true, number: 1 });
  });

  it('a reload in the middle goes on under the same key', async () => {
    // F23: the page that made the key is gone; only the pending store is left.
    const pending = memoryPending();
    shop.faults.push('lose-reply');
    const before = clientOf({ pending, triesMax: 1 });
    expect(await before.operation('pay').fetch('/pay', euros(5))).toMatchObject({
      outcome: 'unknown',
      why: 'no-answer',
      next: 'wait',
    });
    const after = clientOf({ pending });
    const left = await after.resume();
    expect(left).toMatchObject([{ operation: 'pay', method: 'POST', url: `${shop.url}pay`, wasSent: true }]);
    // Nothing is sent because a page was opened.
    expect(shop.keys).toHaveLength(1);
    expect(await left[0]?.goOn()).toMatchObject({ operation: 'pay', outcome: 'done', why: 'replayed' });
    expect(await after.resume()).toEqual([]);
    expect(await left[0]?.goOn()).toMatchObject({ why: 'kept', isEarlier: true });
    expect(shop.payments).toHaveLength(1);
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('a double click makes one payment, and both clicks get its answer', async () => {
    const operation = clientOf().operation('pay');
    const both = await Promise.all([operation.fetch('/pay', euros(5)), operation.fetch('/pay', euros(5))]);
    expect(both.map(({ why }) => why).toSorted()).toEqual(['first', 'kept']);
    expect(both).toMatchObject([{ isEarlier: false }, { isEarlier: false }]);
    expect(shop.payments).toHaveLength(1);
    expect(shop.keys).toHaveLength(1);
  });

  it('an equal call after the answer gets the answer that was kept, without a request', async () => {
    const operation = clientOf().operation('pay');
    await operation.fetch('/pay', euros(5));
    const again = await operation.fetch('/pay', euros(5));
    expect(again).toMatchObject({ outcome: 'done', why: 'kept', isEarlier: true, next: 'show', tries: 0 });
    expect(shop.keys).toHaveLength(1);
  });

  it('the same payment twice on purpose is two keys and runs twice', async () => {
    // F24.
    const operation = clientOf().operation('pay');
    await operation.fetch('/pay', euros(5));
    expect(await operation.again()).toBe(true);
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ outcome: 'done', why: 'first' });
    expect(shop.payments).toHaveLength(2);
    expect(new Set(shop.keys).size).toBe(2);
  });

  it('what an equal call means after the end is said by the operation, and calls before it are one', async () => {
    const client = clientOf({ pending: memoryPending() });
    for (const [whenDone, after] of [
      ['same', { why: 'kept', isEarlier: true, next: 'show' }],
      ['ask', { why: 'kept', isEarlier: true, next: 'ask' }],
      ['again', { why: 'first', isEarlier: false, next: 'show' }],
    ] as const) {
      const operation = client.operation(`pay-${whenDone}`, { whenDone });
      const call = () => operation.fetch('/pay', euros(5));
      const before = shop.keys.length;
      await Promise.all([call(), call(), call()]);
      expect(shop.keys).toHaveLength(before + 1);
      expect(await call()).toMatchObject({ outcome: 'done', ...after });
      expect(shop.keys).toHaveLength(before + (whenDone === 'again' ? 2 : 1));
    }
    expect(new Set(shop.keys).size).toBe(4);
  });

  it('a double click whose bodies differ, over a store that takes a while, is one payment (F24)', async () => {
    for (const whenDone of ['same', 'ask', 'again'] as const) {
      const operation = clientOf({ pending: slowPending() }).operation(`pay-${whenDone}`, { whenDone });
      const before = shop.payments.length;
      const both = await Promise.all([1, 2].map((time) => operation.fetch('/pay', { body: `at ${time}` })));
      expect(both.map(({ why }) => why).toSorted()).toEqual(['first', 'other-request']);
      expect(shop.payments).toHaveLength(before + 1);
    }
  });

  it('other content after the end is told, unless it may be done again or is said to be meant', async () => {
    const client = clientOf();
    for (const whenDone of ['same', 'ask'] as const) {
      const operation = client.operation(`pay-${whenDone}`, { whenDone });
      expect(await operation.fetch('/pay', euros(5))).toMatchObject({ why: 'first' });
      expect(await operation.fetch('/pay', euros(6))).toMatchObject({
        outcome: 'unknown',
        why: 'other-request',
        next: 'decide',
        tries: 0,
      });
      // It has changed nothing.
      expect(await operation.fetch('/pay', euros(5))).toMatchObject({ why: 'kept' });
      expect(await operation.again()).toBe(true);
      expect(await operation.fetch('/pay', euros(6))).toMatchObject({ why: 'first' });
    }
    const coffee = client.operation('coffee', { whenDone: 'again' });
    expect(await coffee.fetch('/pay', euros(2))).toMatchObject({ why: 'first' });
    expect(await coffee.fetch('/pay', euros(3))).toMatchObject({ why: 'first' });
    expect(shop.payments).toHaveLength(6);
    expect(new Set(shop.keys).size).toBe(6);
  });

  it('two clients on one pending store, without locks between them, send one key', async () => {
    const pending = memoryPending();
    const results = await Promise.all(
      [clientOf({ pending }), clientOf({ pending }), clientOf({ pending })].map((client) =>
        client.operation('pay').fetch('/pay', euros(5)),
      ),
    );
    expect(results.every(({ outcome }) => outcome === 'done')).toBe(true);
    expect(new Set(shop.keys).size).toBe(1);
    expect(shop.payments).toHaveLength(1);
  });

  it('a key that was made with the job is sent, and after a restart again', async () => {
    const key = uuidV4();
    const once = await clientOf().operation('job-7', { key }).fetch('/pay', euros(5));
    const twice = await clientOf().operation('job-7', { key }).fetch('/pay', euros(5));
    expect([once.why, twice.why]).toEqual(['first', 'replayed']);
    expect(new Set(shop.keys)).toEqual(new Set([`"${key}"`]));
  });
});

describe('a key of one’s own', () => {
  it('after a refusal the server is asked again, under the same key', async () => {
    const key = uuidV4();
    const operation = clientOf().operation('job-7', { key });
    shop.faults.push(problem(400, 'request-too-old'));
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ outcome: 'refused', why: 'never-ran' });
    shop.answer = { status: 402, body: {} };
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ outcome: 'refused', tries: 1 });
    // The server has kept this one.
    shop.answer = { status: 201, body: {} };
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ outcome: 'refused', tries: 1 });
    expect(shop.payments).toHaveLength(1);
    expect(new Set(shop.keys)).toEqual(new Set([`"${key}"`]));
  });

  it('it cannot be meant again under the same key, and is sent under it after it was discarded', async () => {
    const key = uuidV4();
    const operation = clientOf({ triesMax: 1 }).operation('job-7', { key });
    shop.faults.push('lose-reply');
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ outcome: 'unknown' });
    expect(await operation.discard({ consented: true })).toBe(true);
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ outcome: 'done', why: 'replayed' });
    await expect(operation.again()).rejects.toThrow('make another');
    expect(new Set(shop.keys)).toEqual(new Set([`"${key}"`]));
  });
});

describe('what is not sent', () => {
  it('another body under a pending operation is told, and nothing is sent', async () => {
    shop.faults.push('cut');
    const client = clientOf({ triesMax: 1 });
    const operation = client.operation('pay');
    await operation.fetch('/pay', euros(5));
    expect(await operation.fetch('/pay', euros(6))).toMatchObject({
      outcome: 'unknown',
      why: 'other-request',
      next: 'decide',
      tries: 0,
    });
    expect(shop.keys).toHaveLength(1);
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ outcome: 'done', why: 'first' });
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('an operation that is too old is told, keeps its key and is never sent again', async () => {
    let now = Date.UTC(2030, 0);
    const world = { ...clientWorld(), wallNow: () => now };
    const events: ClientEvent[] = [];
    const client = clientOf({ world, triesMax: 1, onEvent: (event) => events.push(event) });
    shop.faults.push('lose-reply');
    await client.operation('pay').fetch('/pay', euros(5));
    now += 24 * 3_600_000;
    const result = await client.operation('pay').fetch('/pay', euros(5));
    expect(result).toMatchObject({ outcome: 'unknown', why: 'aged-out', next: 'decide', tries: 0 });
    expect(events).toContainEqual({ type: 'aged-out', operation: 'pay', ageMs: 24 * 3_600_000 });
    expect(shop.keys).toHaveLength(1);
    expect(await client.operation('pay').again()).toBe(false);
    expect(await client.operation('pay').discard({ consented: true })).toBe(true);
    expect(await client.operation('pay').fetch('/pay', euros(5))).toMatchObject({
      outcome: 'done',
      why: 'first',
    });
  });

  it('what was sent by a clock that has been set back is of no age that is known, and is not sent again', async () => {
    let now = Date.UTC(2030, 0);
    const pending = memoryPending();
    // Each a page of its own.
    const operation = (trustClock = true) =>
      clientOf({
        pending,
        trustClock,
        world: { ...clientWorld(), wallNow: () => now },
        triesMax: 1,
        // A browser hides the dates of other origins.
        fetch: undated,
      }).operation('pay');
    shop.faults.push('lose-reply');
    await operation().fetch('/pay', euros(5));
    now -= 7 * 24 * 3_600_000;
    const unknown = { outcome: 'unknown', why: 'age-unknown', next: 'decide', tries: 0 };
    expect(await operation().fetch('/pay', euros(5))).toMatchObject(unknown);
    // By as much as clocks are corrected it is no matter; where clocks are set by hand it is.
    now += 7 * 24 * 3_600_000 - 30_000;
    expect(await operation(false).fetch('/pay', euros(5))).toMatchObject(unknown);
    expect(await operation().fetch('/pay', euros(5))).toMatchObject({ why: 'replayed' });
    expect(shop.keys).toHaveLength(2);
  });

  it('what cannot be kept is not sent', async () => {
    const broken: PendingStore = { ...memoryPending(), swap: () => Promise.reject(new Error('disk full')) };
    const result = await clientOf({ pending: broken }).operation('pay').fetch('/pay', euros(5));
    expect(result).toMatchObject({ outcome: 'unknown', why: 'not-kept', key: null });
    expect(shop.keys).toHaveLength(0);
  });

  it('a store that never answers holds nobody for longer than the call’s time', async () => {
    const retry = { timeMaxMs: 30 };
    for (const pending of [
      { ...memoryPending(), read: never },
      { ...memoryPending(), swap: never },
    ])
      expect(
        await clientOf({ pending, ...retry })
          .operation('pay')
          .fetch('/pay', euros(5)),
      ).toMatchObject({
        outcome: 'unknown',
        why: 'not-kept',
        next: 'wait',
        tries: 0,
      });
    expect(shop.keys).toHaveLength(0);
  });

  it('a signal that is aborted ends the call and keeps the key', async () => {
    const control = new AbortController();
    shop.hold = new Promise((resolve) => control.signal.addEventListener('abort', () => resolve()));
    const client = clientOf({
      onEvent: (event) => event.type === 'try' && control.abort(new Error('the user left')),
    });
    const result = await client.operation('pay').fetch('/pay', { ...euros(5), signal: control.signal });
    expect(result).toMatchObject({ outcome: 'unknown', why: 'aborted', error: new Error('the user left') });
    expect(await client.resume()).toMatchObject([{ wasSent: true }]);
  });
});

describe('what a person gives up', () => {
  it('what was never sent is told as such, needs nobody’s consent, and the next call is a new one', async () => {
    const control = new AbortController();
    control.abort(new Error('closed'));
    const client = clientOf();
    const result = await client.operation('pay').fetch('/pay', { ...euros(5), signal: control.signal });
    expect(result).toMatchObject({ outcome: 'refused', why: 'never-sent', next: 'send', tries: 0 });
    expect(await client.resume()).toEqual([]);
    expect(shop.keys).toHaveLength(0);
  });

  it('a row is said to be sent before its request leaves, and not earlier', async () => {
    const pending = memoryPending();
    const stages: (string | undefined)[] = [];
    const stage = async (): Promise<string | undefined> =>
      (JSON.parse((await pending.rows(''))[0]?.[1] ?? '{}') as { stage?: string }).stage;
    const client = clientOf({
      pending,
      async headers() {
        stages.push(await stage());
        return {};
      },
      async fetch(url, init) {
        stages.push(await stage());
        return fetch(url, init);
      },
    });
    await client.operation('pay').fetch('/pay', euros(5));
    expect([...stages, await stage()]).toEqual(['new', 'sent', 'settled']);
  });

  it('cancelled before it is sent, in another tab too, it is never sent', async () => {
    const pending = memoryPending();
    const other = clientOf({ pending });
    const client = clientOf({
      pending,
      async headers() {
        expect(await other.operation('pay').cancel()).toBe(true);
        return {};
      },
    });
    expect(await client.operation('pay').fetch('/pay', euros(5))).toMatchObject({
      outcome: 'refused',
      why: 'never-sent',
      next: 'send',
    });
    expect(shop.keys).toHaveLength(0);
  });

  it('what was sent cannot be cancelled, and is discarded only with consent', async () => {
    shop.faults.push('lose-reply');
    const operation = clientOf({ triesMax: 1 }).operation('pay');
    await operation.fetch('/pay', euros(5));
    expect(await operation.cancel()).toBe(false);
    expect(await operation.again()).toBe(false);
    await expect(operation.discard({} as never)).rejects.toThrow('ask the person');
    expect(await operation.discard({ consented: true })).toBe(true);
    expect(await operation.discard({ consented: true })).toBe(false);
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ why: 'first' });
    expect(new Set(shop.keys).size).toBe(2);
  });

  it('discarded in another tab while it is tried again, it is not sent any more', async () => {
    const pending = memoryPending();
    const other = clientOf({ pending });
    shop.faults.push('cut');
    const client = clientOf({
      pending,
      async headers() {
        if (shop.keys.length > 0)
          expect(await other.operation('pay').discard({ consented: true })).toBe(true);
        return {};
      },
    });
    expect(await client.operation('pay').fetch('/pay', euros(5))).toMatchObject({
      outcome: 'unknown',
      why: 'aborted',
      tries: 1,
    });
    expect(shop.keys).toHaveLength(1);
  });

  it('what another tab sent, lost and gave up is not told as never sent', async () => {
    const pending = memoryPending();
    const other = clientOf({ pending, triesMax: 1 });
    shop.faults.push('lose-reply');
    const client = clientOf({
      pending,
      async headers() {
        // It has joined a row that was never sent; meanwhile another tab sends it.
        expect(await other.operation('pay').fetch('/pay', euros(5))).toMatchObject({ why: 'no-answer' });
        expect(await other.operation('pay').discard({ consented: true })).toBe(true);
        return {};
      },
    });
    expect(await client.operation('pay').fetch('/pay', euros(5))).toMatchObject({
      outcome: 'unknown',
      why: 'aborted',
      tries: 0,
    });
    expect(shop.payments).toHaveLength(1);
  });

  it('what was given up elsewhere is not gone on with', async () => {
    const pending = memoryPending();
    shop.faults.push('cut');
    const client = clientOf({ pending, triesMax: 1 });
    await client.operation('pay').fetch('/pay', euros(5));
    const [left] = await client.resume();
    await clientOf({ pending }).operation('pay').discard({ consented: true });
    expect(await left?.goOn()).toMatchObject({ outcome: 'unknown', why: 'aborted', tries: 0 });
    expect(shop.keys).toHaveLength(1);
  });

  it('a refusal says nothing where somebody else has settled it meanwhile', async () => {
    const pending = memoryPending();
    const other = clientOf({ pending });
    const client = clientOf({
      pending,
      profile: withRefusals([{ status: 403 }]),
      async fetch() {
        expect(await other.operation('pay').fetch('/pay', euros(5))).toMatchObject({ outcome: 'done' });
        return new Response('', { status: 403 });
      },
    });
    const operation = client.operation('pay');
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ outcome: 'unknown', why: 'unproven' });
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ outcome: 'done', why: 'kept' });
  });

  it('who has aborted already is told what is done, and not that it was never sent', async () => {
    const operation = clientOf().operation('pay');
    await operation.fetch('/pay', euros(5));
    const aborted = { ...euros(5), signal: AbortSignal.abort() };
    expect(await operation.fetch('/pay', aborted)).toMatchObject({ outcome: 'done', why: 'kept' });
  });

  it('a store that is cleared in flight, and a double click, are one payment under one key', async () => {
    // F128
    const store = memoryPending();
    const held = new AbortController();
    shop.hold = new Promise((resolve) => held.signal.addEventListener('abort', () => resolve()));
    shop.faults.push('lose-reply');
    const operation = clientOf({ pending: store }).operation('pay');
    const first = operation.fetch('/pay', euros(5));
    await shop.begun(1);
    for (const [name, text] of await store.rows('')) await store.swap(name, text, null);
    const second = operation.fetch('/pay', euros(5));
    held.abort();
    expect(await Promise.all([first, second])).toMatchObject([{ outcome: 'done' }, { outcome: 'done' }]);
    expect(shop.payments).toHaveLength(1);
    expect(new Set(shop.keys).size).toBe(1);
  });
});

describe('answers', () => {
  it('408, 425, 429, 5xx and an operation in progress are asked again, under the same key', async () => {
    const inProgress = {
      status: 409,
      headers: { 'content-type': 'application/problem+json', 'retry-after': '0' },
      body: JSON.stringify({
        type: 'https://samekey.example/errors#in-progress',
        status: 409,
        code: 'in-progress',
        retryable: true,
      }),
    };
    shop.faults.push({ status: 408 }, { status: 425 }, { status: 503 }, inProgress, { status: 429 });
    const result = await clientOf().operation('pay').fetch('/pay', euros(5));
    expect(result).toMatchObject({ outcome: 'done', why: 'first', tries: 6 });
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('an unknown outcome is told and keeps the key', async () => {
    // F19: a 5xx under the policy `payments` is not known, and is not run again.
    shop.answer = { status: 504, body: {} };
    const client = clientOf();
    const operation = client.operation('pay');
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({
      outcome: 'unknown',
      why: 'outcome-unknown',
      next: 'wait',
    });
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({
      outcome: 'unknown',
      why: 'outcome-unknown',
      next: 'wait',
    });
    expect(shop.payments).toHaveLength(1);
    expect(new Set(shop.keys).size).toBe(1);
    expect(await client.resume()).toHaveLength(1);
  });

  it('a mismatch and a 410 are told once and keep the key', async () => {
    shop.faults.push(problem(422, 'key-reused'), problem(410, 'key-expired'));
    const operation = clientOf().operation('pay');
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({
      why: 'key-reused',
      next: 'decide',
      tries: 1,
    });
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({
      why: 'key-expired',
      next: 'decide',
      tries: 1,
    });
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('a 5xx, replayed or not, does not say that nothing happened, and keeps the key', async () => {
    shop.faults.push({ status: 500, headers: { 'idempotency-replayed': 'true' } }, { status: 501 });
    const operation = clientOf().operation('pay');
    for (let i = 0; i < 2; i += 1)
      expect(await operation.fetch('/pay', euros(5))).toMatchObject({
        outcome: 'unknown',
        why: 'server-error',
        next: 'decide',
        tries: 1,
      });
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ outcome: 'done' });
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('a refusal that the server stored frees the key: the corrected call has a new one', async () => {
    shop.answer = { status: 402, body: {} };
    const operation = clientOf().operation('pay');
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({
      outcome: 'refused',
      why: 'stored',
      next: 'correct',
    });
    // The same again is meant so too.
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ outcome: 'refused', tries: 1 });
    shop.answer = { status: 201, body: {} };
    expect(await operation.fetch('/pay', euros(4))).toMatchObject({ outcome: 'done', why: 'first' });
    expect(new Set(shop.keys).size).toBe(3);
  });

  it('a 4xx of a server that says nothing of keys keeps the key, and is certain only where the caller says so', async () => {
    shop.faults.push({ status: 403 }, { status: 403 });
    expect(await clientOf().operation('pay').fetch('/pay', euros(5))).toMatchObject({
      outcome: 'unknown',
      why: 'unproven',
      next: 'decide',
    });
    const operation = clientOf({ profile: withRefusals([{ status: 403 }]) }).operation('pay');
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ outcome: 'refused', why: 'never-ran' });
    expect(new Set(shop.keys).size).toBe(2);
  });

  it('a refusal after a lost reply does not speak for the first request, and keeps the key', async () => {
    // The payment was made and its answer lost; then the session ended, and a proxy knows nothing of keys.
    const operation = clientOf({ profile: withRefusals([{ status: 403 }]) }).operation('pay');
    shop.faults.push('lose-reply', { status: 403 });
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ outcome: 'unknown', why: 'unproven' });
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ outcome: 'done', why: 'replayed' });
    expect(shop.payments).toHaveLength(1);
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('who is not logged in keeps the key until they are', async () => {
    // F26.
    shop.faults.push({ status: 401 });
    const operation = clientOf().operation('pay');
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ outcome: 'unknown', next: 'sign-in' });
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ outcome: 'done' });
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('a redirect is not followed, is no answer, and is told with its mend', async () => {
    // F83: a page that asks to log in answers 200.
    const told: string[] = [];
    const world = { ...clientWorld(), warn: (code: string) => void told.push(code) };
    shop.faults.push(
      { status: 302, headers: { location: '/login' } },
      { status: 307, headers: { location: '/pay' } },
    );
    const operation = clientOf({ world }).operation('pay');
    for (let i = 0; i < 2; i += 1)
      expect(await operation.fetch('/pay', euros(5))).toMatchObject({
        outcome: 'unknown',
        why: 'redirected',
        next: 'decide',
      });
    expect(shop.payments).toHaveLength(0);
    expect(shop.keys).toHaveLength(2);
    expect(told).toEqual(['SAMEKEY_REDIRECT', 'SAMEKEY_REDIRECT']);
    // Nor can it be asked for.
    await expect(operation.fetch('/pay', { ...euros(5), redirect: 'follow' })).rejects.toThrow(
      'not followed',
    );
    // What the server stored is an answer.
    shop.answer = { status: 303, body: {} };
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ outcome: 'done', why: 'first' });
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('an answer that is too large to keep is said to be, and never given in part', async () => {
    // F139
    const operation = clientOf({ answerSizeMaxBytes: 5 }).operation('pay');
    expect(await (await operation.fetch('/pay', euros(5))).response?.json()).toMatchObject({ paid: true });
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({
      outcome: 'done',
      why: 'kept',
      next: 'look-up',
      response: null,
    });
  });

  it('an answer that the server could not record is the answer, and is kept here', async () => {
    shop.faults.push({ status: 201, headers: { 'idempotency-stored': 'false' } });
    const operation = clientOf().operation('pay');
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ why: 'first', isStored: false });
    expect(await operation.fetch('/pay', euros(5))).toMatchObject({ why: 'kept' });
    expect(shop.keys).toHaveLength(1);
  });

  it('a status that no Response can have is told without one', async () => {
    shop.faults.push({ status: 999 });
    expect(await clientOf().operation('pay').fetch('/pay', euros(5))).toMatchObject({
      outcome: 'unknown',
      why: 'unproven',
      response: null,
    });
  });

  it('a server that asks for more patience than is left is believed', async () => {
    shop.faults.push({ status: 503, headers: { 'retry-after': '3600' } });
    const result = await clientOf().operation('pay').fetch('/pay', euros(5));
    expect(result).toMatchObject({ why: 'no-answer', tries: 1, retryAfterMs: 3_600_000 });
  });
});

/** Calls meet in it: each of its verbs takes a few turns of the event loop. */
function slowPending(): PendingStore {
  const store = memoryPending();
  return {
    read: async (name) => (await turns(), store.read(name)),
    swap: async (name, expected, next) => (await turns(), store.swap(name, expected, next)),
    rows: async (prefix) => store.rows(prefix),
  };
}

/** As `fetch`, without the dates. */
async function undated(url: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(url, init);
  const headers = new Headers(answer.headers);
  headers.delete('date');
  return new Response(await answer.arrayBuffer(), { status: answer.status, headers });
}

const never = (): Promise<never> => new Promise(() => undefined);

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

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
