/** What the client makes of what it cannot have: a store that does not take the end of a payment, headers that do not come, newer rows. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ClientEvent,
  type ClientOptions,
  createClient,
  type PendingStore,
} from '../../../client/src/index.ts';
import { memoryPending } from '../../../client/src/memory.ts';
import { type Shop, startShop } from '../processes/client-shop.ts';

let shop: Shop;
beforeEach(async () => {
  shop = await startShop();
});
afterEach(() => shop.close());

const five: RequestInit = { body: '{"amount":5}' };

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

/** A store that takes all but the end of a payment, for as long as it is full. */
function fullStore(): { readonly pending: PendingStore; readonly isFull: (is: boolean) => void } {
  const store = memoryPending();
  let isFull = true;
  return {
    pending: {
      ...store,
      swap: (name, before, next) =>
        isFull && next?.includes('"settled"') === true
          ? Promise.reject(new Error('full'))
          : store.swap(name, before, next),
    },
    isFull: (is) => (isFull = is),
  };
}

describe('a store that does not take the end of a payment', () => {
  it('makes no coffee out of two: under `again` the next call is a new one', async () => {
    const { pending } = fullStore();
    const events: ClientEvent[] = [];
    const coffee = clientOf({ pending, whenDone: 'again', onEvent: (event) => events.push(event) });
    for (let cups = 1; cups <= 2; cups++) {
      expect(await coffee.operation('coffee').fetch('/pay', five)).toMatchObject({ why: 'first' });
      expect(shop.payments).toHaveLength(cups);
    }
    expect(events).toContainEqual(expect.objectContaining({ type: 'pending-store-error' }));
  });

  it('is no reason not to ask: the page shows the earlier one, lists nothing as open, and `again` is told', async () => {
    const { pending, isFull } = fullStore();
    const client = clientOf({ pending, whenDone: 'ask' });
    const operation = client.operation('pay');
    await operation.fetch('/pay', five);
    const asked = { outcome: 'done', why: 'kept', next: 'ask', isEarlier: true };
    expect(await operation.fetch('/pay', five)).toMatchObject(asked);
    expect(await client.resume()).toEqual([]);
    await expect(operation.again()).rejects.toThrow('full');
    isFull(false);
    expect(await operation.again()).toBe(true);
    expect(await operation.fetch('/pay', five)).toMatchObject({ why: 'first' });
    expect(shop.payments).toHaveLength(2);
  });

  it('knows it as sent after a reload: the server is asked under the same key', async () => {
    const { pending } = fullStore();
    await clientOf({ pending }).operation('pay').fetch('/pay', five);
    expect(await clientOf({ pending }).operation('pay').fetch('/pay', five)).toMatchObject({
      why: 'replayed',
    });
    expect(shop.payments).toHaveLength(1);
  });

  it('keeps no request of it when the user signs out', async () => {
    const { pending, isFull } = fullStore();
    const client = clientOf({ pending });
    await client.operation('pay').fetch('/pay', five);
    isFull(false);
    await client.clear();
    // Beside the mark of the sign-out.
    const text = (await pending.rows('')).map((row) => row[1]).find((one) => one.startsWith('{'));
    expect(JSON.parse(text ?? '')).toMatchObject({
      stage: 'settled',
      answer: { outcome: 'done', body: null },
    });
    expect(text).not.toContain(btoa('{"amount":5}'));
  });

  it('says nothing of a request that may not have been alone: what is not written is not certain', async () => {
    const { pending } = fullStore();
    shop.answer = { status: 400, body: { code: 'request-invalid', status: 400, type: '#request-invalid' } };
    const fetch = async (): Promise<Response> =>
      new Response(JSON.stringify(shop.answer.body), {
        status: 400,
        headers: { 'content-type': 'application/problem+json' },
      });
    const operation = clientOf({ pending, fetch }).operation('pay');
    const first = await operation.fetch('/pay', five);
    expect(first).toMatchObject({ outcome: 'unknown', why: 'unproven' });
    expect((await operation.fetch('/pay', five)).key).toBe(first.key);
  });
});

const never = (): Promise<never> => new Promise(() => undefined);
const failing = async (): Promise<never> => Promise.reject(new Error('no token'));

describe('headers that do not come', () => {
  it.each([
    ['never', never, 'Too slow'],
    ['by an error', failing, 'no token'],
  ])('%s end the call in time, also those that decide', async (_how, headers, message) => {
    const pending = memoryPending();
    const bounded = { pending, headers, decidingHeaders: ['x-account'], tryTimeMaxMs: 20 };
    expect(await clientOf(bounded).operation('pay').fetch('/pay', five)).toMatchObject({
      outcome: 'unknown',
      why: 'no-answer',
      next: 'wait',
      key: null,
      tries: 0,
      error: expect.objectContaining({ message: expect.stringContaining(message) }),
    });
    expect(await pending.rows('')).toEqual([]);
  });

  it('end with the caller’s signal', async () => {
    const control = new AbortController();
    const client = clientOf({ headers: never, decidingHeaders: ['x-account'] });
    const call = client.operation('pay').fetch('/pay', { ...five, signal: control.signal });
    control.abort();
    expect(await call).toMatchObject({ outcome: 'unknown', why: 'aborted', tries: 0 });
  });
});

/** The row of a payment whose answer was lost, as newer code would write it. */
async function newer(more: object = {}): Promise<{ pending: PendingStore; name: string; text: string }> {
  const pending = memoryPending();
  shop.faults.push('lose-reply');
  await clientOf({ pending, triesMax: 1 }).operation('pay').fetch('/pay', five);
  const [[name, text] = ['', '']] = await pending.rows('');
  const row = JSON.stringify({ ...(JSON.parse(text) as object), v: 2, since: 'later', ...more });
  await pending.swap(name, text, row);
  return { pending, name, text: row };
}

describe('a row of newer code, met by a tab of older code', () => {
  it('is left as it is when the user signs out there, but for what it holds of them', async () => {
    const body = btoa('secret');
    const answer = { outcome: 'done', status: 201, headers: [['x', 'y']], body };
    const { pending, name, text } = await newer({ answer });
    await clientOf({ pending }).clear();
    const left = JSON.parse((await pending.read(name)) ?? '') as object;
    expect(left).toEqual({
      ...(JSON.parse(text) as object),
      request: null,
      answer: { ...answer, headers: [], body: null },
    });
    // So newer code goes on under the key of what was sent.
    expect(left).toMatchObject({ v: 2, stage: 'sent', since: 'later', key: expect.any(String) });
  });

  it('is given up with their consent', async () => {
    const { pending, name } = await newer();
    await clientOf({ pending }).clear({ unsettled: true });
    expect(JSON.parse((await pending.read(name)) ?? '')).toMatchObject({
      v: 1,
      stage: 'settled',
      answer: null,
    });
  });
});
