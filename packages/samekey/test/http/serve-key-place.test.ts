/** Served operations whose key comes in the body, on the doors that read bodies in different ways. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import fastify from 'fastify';
import Koa from 'koa';
import { describe, expect, it } from 'vitest';
import { createSamekey, type Operation } from 'samekey';
import { idempotent, serve as serveExpress } from 'samekey/express';
import { serve as serveFastify } from 'samekey/fastify';
import { serve as serveFetch } from 'samekey/fetch';
import { serve as serveKoa } from 'samekey/koa';
import { serve as serveNode } from 'samekey/node';
import { memoryStore } from 'samekey/stores/memory';

interface Payment {
  readonly amount: number;
}

type Pay = Operation<Payment, { readonly run: number; readonly amount: number }>;

const OPTIONS = { scope: () => 'acme', keyIn: { body: 'idempotency_key' } } as const;

/** Sends a body to a door's server; what came back. */
type Send = (body: string) => Promise<Response>;

const DOORS: Readonly<
  Record<string, (pay: Pay) => Promise<{ readonly send: Send; readonly close: () => unknown }>>
> = {
  express: async (pay) => {
    const server = express().post('/pay', serveExpress(pay, OPTIONS)).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    return { send: sendTo((server.address() as AddressInfo).port), close: () => server.close() };
  },
  fastify: async (pay) => {
    const app = fastify();
    app.post('/pay', serveFastify(pay, OPTIONS));
    await app.listen({ port: 0, host: '127.0.0.1' });
    return { send: sendTo((app.server.address() as AddressInfo).port), close: () => app.close() };
  },
  fetch: async (pay) => {
    const handler = serveFetch(pay, OPTIONS);
    return {
      send: async (body) => handler(new Request('http://here/pay', requestOf(body))),
      close: () => undefined,
    };
  },
  koa: async (pay) => {
    const server = new Koa().use(serveKoa(pay, OPTIONS)).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    return { send: sendTo((server.address() as AddressInfo).port), close: () => server.close() };
  },
  node: async (pay) => {
    const handler = serveNode(pay, OPTIONS);
    const server = createServer((req, res) => void handler(req, res)).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    return { send: sendTo((server.address() as AddressInfo).port), close: () => server.close() };
  },
};

function requestOf(body: string): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json', connection: 'close' }, body };
}

function sendTo(port: number): Send {
  return (body) => fetch(`http://127.0.0.1:${port}/pay`, requestOf(body));
}

describe.each(Object.entries(DOORS))('served on %s, with its key in the body', (_door, open) => {
  it('runs once for each key, and refuses a key that is none', async () => {
    const samekey = createSamekey({ store: memoryStore() });
    let runs = 0;
    const pay: Pay = samekey.plain({
      name: 'pay',
      policy: 'standard',
      run: ({ amount }: Payment) => {
        runs += 1;
        return { run: runs, amount };
      },
    });
    const { send, close } = await open(pay);
    const first = await send('{"idempotency_key":"key-1","amount":5}');
    expect([first.status, await first.json()]).toEqual([200, { run: 1, amount: 5 }]);
    const retry = await send('{"amount":5,"idempotency_key":"key-1"}');
    expect([retry.headers.get('idempotency-replayed'), await retry.json()]).toEqual([
      'true',
      { run: 1, amount: 5 },
    ]);
    for (const [body, status] of [
      ['{"amount":5}', 400],
      ['{"idempotency_key":5,"amount":5}', 400],
      ['{"idempotency_key":"key-1","amount":6}', 422],
      ['{"idempotency_key":"key-2"', 400],
    ] as const)
      expect([body, (await send(body)).status]).toEqual([body, status]);
    expect(runs).toBe(1);
    await close();
    await samekey.close();
  });
});

it('each route that lets a request pass is told of, once', async () => {
  const told: string[] = [];
  const samekey = createSamekey({
    store: memoryStore(),
    onEvent: (event) => void (event.type === 'misuse' && told.push(event.code)),
  });
  const app = express();
  const protect = idempotent(samekey, { policy: 'standard', scope: () => 'acme', skip: () => true });
  for (const path of ['/a', '/b']) app.post(path, protect, (_req, res) => void res.sendStatus(204));
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  for (const path of ['/a', '/b', '/a', '/b']) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST' });
    expect(answer.status).toBe(204);
  }
  expect(told).toEqual(['request-skipped', 'request-skipped']);
  server.close();
  await samekey.close();
});

it('a served operation refuses skip, which would have nothing to pass to', async () => {
  const samekey = createSamekey({ store: memoryStore() });
  const pay = samekey.plain({ name: 'pay', policy: 'standard', run: () => 1 });
  expect(() => serveNode(pay, { scope: () => 'acme', skip: () => true })).toThrow(
    /nothing that a skipped request/,
  );
  await samekey.close();
});

it.each(['idempotency_key', {}, { header: 'X-Pay' }, { body: 'key', query: 'key' }])(
  'a place of keys that is none, %o, is refused with all forms that there are',
  (keyIn) => {
    const samekey = createSamekey({ store: memoryStore() });
    expect(() =>
      idempotent(samekey, { policy: 'standard', scope: () => 'acme', keyIn: keyIn as never }),
    ).toThrow('keyIn names one place: { body }, { query }, or { header, member }');
  },
);
