/**
 * Two copies of the package in one process, as real trees have them: what one remembers of a request, a transaction or a scope, the
 * other finds (F82).
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import express from 'express';
import { Hono } from 'hono';
import { expect, it, vi } from 'vitest';

/** Everything that an application imports, from a copy of its own. */
async function copy() {
  vi.resetModules();
  const [core, onExpress, onNode, onHono, onFetch, memory, turns, enrolled] = await Promise.all([
    import('../../src/index.ts'),
    import('../../src/adapters/express/index.ts'),
    import('../../src/adapters/node/index.ts'),
    import('../../src/adapters/hono/index.ts'),
    import('../../src/adapters/fetch/index.ts'),
    import('../../src/stores/memory/index.ts'),
    import('../../src/stores/sqlite/turns.ts'),
    import('../../src/ways/enrolled.ts'),
  ]);
  return { core, onExpress, onNode, onHono, onFetch, memory, turns, enrolled };
}

const [mine, theirs] = [await copy(), await copy()];
const post = { method: 'POST', headers: { 'Idempotency-Key': 'key-1', 'Content-Type': 'application/json' } };

// F82
it('the copies are two', () => {
  expect(mine.onExpress.idempotent).not.toBe(theirs.onExpress.idempotent);
  expect(mine.core.singleTenant()).not.toBe(theirs.core.singleTenant());
});

it('Express: the scope, the attempt and the bytes that a parser kept are those of either copy', async () => {
  const samekey = mine.core.createSamekey({ store: mine.memory.memoryStore() });
  const app = express();
  app.use(express.json({ verify: theirs.onExpress.rememberRawBody }));
  app.post(
    '/things',
    mine.onExpress.idempotent(samekey, { policy: 'payments', scope: theirs.core.singleTenant() }),
    (req, res) => void res.status(201).json([theirs.onExpress.attemptOf(req)?.number, req.body]),
  );
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/things`;
  const first = await fetch(url, { ...post, body: '{"a":1}' });
  expect([first.status, await first.json()]).toEqual([201, [1, { a: 1 }]]);
  expect((await fetch(url, { ...post, body: '{"a":1}' })).headers.get('idempotency-replayed')).toBe('true');
  expect((await fetch(url, { ...post, body: '{"a":2}' })).status).toBe(422);
  server.closeAllConnections();
  server.close();
});

it('node:http: the scope, the attempt and the bytes that a parser kept are those of either copy', async () => {
  const samekey = mine.core.createSamekey({ store: mine.memory.memoryStore() });
  const pay = mine.onNode.idempotent(
    samekey,
    { policy: 'payments', scope: theirs.core.singleTenant() },
    (req, res) => void res.writeHead(201).end(String(theirs.onNode.attemptOf(req)?.number)),
  );
  const server = createServer((req, res) => {
    void buffer(req).then((bytes) => {
      theirs.onNode.rememberRawBody(req, res, bytes);
      return pay(req, res);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/things`;
  const first = await fetch(url, { ...post, body: '{"a":1}' });
  expect([first.status, await first.text()]).toEqual([201, '1']);
  expect((await fetch(url, { ...post, body: '{"a":2}' })).status).toBe(422);
  server.closeAllConnections();
  server.close();
});

it('a request that goes through the middleware of both copies is protected twice, which is told', async () => {
  const samekey = mine.core.createSamekey({ store: mine.memory.memoryStore() });
  const options = { policy: 'payments', scope: () => 'acme' } as const;
  const app = new Hono();
  app.use(theirs.onHono.idempotent(samekey, options));
  app.post('/things', mine.onHono.idempotent(samekey, options), (c) => c.text('made', 201));
  app.onError((error, c) => c.text(error.message, 500));
  expect(await (await app.request('/things', post)).text()).toContain('twice');
});

it('Hono and Fetch: the scope and the attempt are those of either copy', async () => {
  const samekey = mine.core.createSamekey({ store: mine.memory.memoryStore() });
  const app = new Hono();
  app.post(
    '/things',
    mine.onHono.idempotent(samekey, { policy: 'payments', scope: theirs.core.singleTenant() }),
    (c) => c.json(theirs.onHono.attemptOf(c)?.number, 201),
  );
  const answer = await app.request('/things', post);
  expect([answer.status, await answer.text()]).toEqual([201, '1']);
  const pay = theirs.onFetch.idempotent(
    samekey,
    { policy: 'payments', scope: mine.core.singleTenant(), operation: 'pay' },
    (_request, _context, attempt) => new Response(String(attempt?.number)),
  );
  expect(await (await pay(new Request('http://x.test/', post))).text()).toBe('1');
});

it('a transaction that one copy has opened is found by the other, and so is the turn of a connection', () => {
  const tx = {};
  const within = {} as Parameters<typeof mine.enrolled.enroll>[1];
  const leave = mine.enrolled.enroll(tx, within);
  expect(theirs.enrolled.enrolledWithin(tx)).toBe(within);
  leave();
  expect(theirs.enrolled.enrolledWithin(tx)).toBeUndefined();
  const database = {} as Parameters<typeof mine.turns.turnsOf>[0];
  expect(theirs.turns.turnsOf(database, '')).toBe(mine.turns.turnsOf(database, ''));
});
