/** Axios, ky and got on a real shop: their calls have the operation's key, and their own retries are out of the way. */

import axios, { AxiosError } from 'axios';
import { got, HTTPError as GotHttpError } from 'got';
import ky, { HTTPError as KyHttpError } from 'ky';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { axiosOnce } from '../../../client/src/wrap/axios.ts';
import { asFetch } from '../../../client/src/wrap/as-fetch.ts';
import { kyOnce } from '../../../client/src/wrap/ky.ts';
import { gotOnce } from '../../../client/src/got/index.ts';
import { type ClientOperation, createClient } from '../../../client/src/index.ts';
import { memoryPending } from '../../../client/src/memory.ts';
import { type Shop, startShop } from '../processes/client-shop.ts';

let shop: Shop;
beforeEach(async () => {
  shop = await startShop();
});
afterEach(() => shop.close());

const newOperation = (): ClientOperation =>
  createClient({
    subject: 'alice',
    pending: memoryPending(),
    whenDone: 'same',
    baseMs: 5,
    capMs: 20,
    triesMax: 3,
  }).operation('pay');

/** What each library makes of an answer: its status and its body. */
const LIBRARIES: Readonly<
  Record<string, (operation: ClientOperation) => Promise<{ status: number; body: unknown }>>
> = {
  axios: async (operation) => {
    const { status, data } = await axios.post<unknown>(`${shop.url}pay`, { amount: 5 }, axiosOnce(operation));
    return { status, body: data };
  },
  ky: async (operation) => {
    const answer = await ky.post(`${shop.url}pay`, { json: { amount: 5 }, ...kyOnce(operation) });
    return { status: answer.status, body: await answer.json() };
  },
  got: async (operation) => {
    const answer = await got.post(`${shop.url}pay`, { json: { amount: 5 }, ...gotOnce(operation) });
    return { status: answer.statusCode, body: JSON.parse(answer.body) as unknown };
  },
};

describe.each(Object.entries(LIBRARIES))('%s', (_name, call) => {
  it('a lost reply is asked for again under the same key, and a second call gets the same answer', async () => {
    // F17
    shop.faults.push('lose-reply', { status: 503 });
    const operation = newOperation();
    const first = await call(operation);
    const second = await call(operation);
    expect(first).toEqual({ status: 201, body: { paid: true, number: 1 } });
    expect(second).toEqual(first);
    expect(shop.payments).toEqual([{ key: shop.keys[0], body: '{"amount":5}' }]);
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('a refusal is the library’s own error, and is sent once', async () => {
    shop.answer = { status: 402, body: {} };
    const error: unknown = await call(newOperation()).catch((thrown: unknown) => thrown);
    const status =
      error instanceof AxiosError
        ? error.response?.status
        : error instanceof KyHttpError
          ? error.response.status
          : error instanceof GotHttpError
            ? error.response.statusCode
            : error;
    expect(status).toBe(402);
    expect(shop.payments).toHaveLength(1);
  });

  it('a redirect is not followed, and gets no key (F83)', async () => {
    const operation = newOperation();
    shop.faults.push({ status: 303, headers: { location: '/login' } });
    const asked: string[] = [];
    shop.server.on('request', ({ url }) => asked.push(String(url)));
    await expect(call(operation)).rejects.toThrow();
    expect(asked).toEqual(['/pay']);
    expect((await call(operation)).status).toBe(201);
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('what has no answer rejects, and the key is kept for the next call', async () => {
    shop.faults.push('cut', 'cut', 'cut');
    const operation = newOperation();
    await expect(call(operation)).rejects.toThrow();
    expect((await call(operation)).status).toBe(201);
    expect(new Set(shop.keys).size).toBe(1);
  });
});

describe('asFetch', () => {
  it('two equal forms are one request, although their boundaries differ', async () => {
    // F32
    const fetch = asFetch(newOperation());
    const form = (): Request => {
      const body = new FormData();
      body.set('amount', '5');
      body.set('receipt', new Blob(['paid']), 'receipt.txt');
      return new Request(`${shop.url}pay`, { method: 'POST', body });
    };
    expect((await fetch(form())).status).toBe(201);
    expect((await fetch(form())).status).toBe(201);
    expect(shop.payments).toHaveLength(1);
    const other = form();
    const changed = new FormData();
    changed.set('amount', '6');
    const [told] = await Promise.allSettled([
      fetch(new Request(other.url, { method: 'POST', body: changed })),
    ]);
    expect(told).toMatchObject({ reason: { result: { why: 'other-request' } } });
  });

  it('an answer that is kept here, given without a request, is marked as replayed', async () => {
    // F107
    const fetch = asFetch(newOperation());
    const post = (): Promise<Response> => fetch(`${shop.url}pay`, { method: 'POST', body: '5' });
    expect((await post()).headers.get('idempotency-replayed')).toBeNull();
    expect((await post()).headers.get('idempotency-replayed')).toBe('true');
    expect(shop.keys).toHaveLength(1);
  });

  it('an answer that proves nothing is given to nobody as one', async () => {
    shop.faults.push('lose-reply', { status: 403 });
    const rejected = asFetch(newOperation())(`${shop.url}pay`, { method: 'POST', body: '5' });
    await expect(rejected).rejects.toMatchObject({
      code: 'ERR_SAMEKEY_UNSETTLED',
      result: { outcome: 'unknown', why: 'unproven', response: { status: 403 } },
    });
  });

  it('another body under the same operation rejects with the result', async () => {
    shop.faults.push('cut', 'cut', 'cut');
    const fetch = asFetch(newOperation());
    const post = (body: string): Promise<Response> => fetch(`${shop.url}pay`, { method: 'POST', body });
    await expect(post('5')).rejects.toMatchObject({ code: 'ERR_SAMEKEY_UNSETTLED' });
    await expect(post('6')).rejects.toMatchObject({ result: { why: 'other-request' } });
  });
});
