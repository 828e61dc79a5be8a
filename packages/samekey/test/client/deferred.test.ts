/** A deferred operation of a real server, with a real worker: the client asks again under its key until it is done. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expect, it } from 'vitest';
import { serve, serveStatus } from '../../src/adapters/express/index.ts';
import { type ClientEvent, createClient } from '../../../client/src/index.ts';
import { memoryPending } from '../../../client/src/memory.ts';
import { createSamekey, reply } from '../../src/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { createWorker } from '../../src/worker/index.ts';
import { availableClients, temporaryFile } from '../stores/sqlite-clients.ts';

const [driver] = availableClients();
const scope = (): string => 'acme';

it('a request that a worker does later is asked for again under its key, and done once', async () => {
  if (driver === undefined) throw new Error('No SQLite client can be loaded.');
  const file = temporaryFile();
  const database = driver.open(file.path);
  const store = sqliteStore({ service: 'test', database });
  await store.migrate();
  const samekey = createSamekey({ store });
  let runs = 0;
  const report = samekey.deferred(
    samekey.plain({
      name: 'make-report',
      policy: 'standard',
      async run(input: { month: number }) {
        runs += 1;
        return reply(201, { report: input.month });
      },
    }),
  );
  const app = express();
  const asked: string[] = [];
  app.use((req, _res, next) => {
    asked.push(`${req.method} ${req.path.replace(/%22|[0-9a-f-]{36}/g, '*')}`);
    next();
  });
  app.post(
    '/reports',
    serve(report, { scope, location: (_req, key) => `/status/${encodeURIComponent(key)}` }),
  );
  app.get('/status/:key', serveStatus(report, { scope, key: (req) => String(req.params['key']) }));
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const worker = createWorker({ samekey });
  const events: ClientEvent[] = [];
  const client = createClient({
    subject: 'alice',
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    pending: memoryPending(),
    whenDone: 'same',
    onEvent(event) {
      events.push(event);
      // The worker begins when the client has been told to wait.
      if (event.type === 'waiting') worker.start();
    },
  });
  try {
    const headers = { 'content-type': 'application/json' };
    const result = await client.operation('report').fetch('/reports', { headers, body: '{"month":5}' });
    expect(result).toMatchObject({ outcome: 'done', why: 'replayed' });
    expect(await result.response?.json()).toEqual({ report: 5 });
    expect(runs).toBe(1);
    expect(asked[0]).toBe('POST /reports');
    expect(asked.length).toBeGreaterThan(1);
    // The status resource is for whoever has no key; nobody's credentials go where an answer says.
    expect(new Set(asked)).toEqual(new Set(['POST /reports']));
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'waiting', because: 'in-progress', status: 202 }),
    );
  } finally {
    await worker.stop();
    server.closeAllConnections();
    server.close();
    await samekey.close({ drainMs: 1_000 });
    await store.close();
    database.close();
    file.remove();
  }
});

it('202 with Location, with and without Retry-After, is asked again at the operation itself (F139)', async () => {
  const asked: string[] = [];
  const client = createClient({
    subject: 'alice',
    baseUrl: 'https://shop.example',
    pending: memoryPending(),
    whenDone: 'same',
    baseMs: 1,
    async fetch(url, { method }) {
      asked.push(`${method} ${new URL(url).pathname}`);
      if (method === 'GET') return Response.json({ status: 'failed', error: 'card declined' });
      return asked.length > 3
        ? Response.json({}, { status: 402, headers: { 'idempotency-replayed': 'true' } })
        : new Response('', {
            status: 202,
            headers: { location: '/jobs/1', ...(asked.length > 1 && { 'retry-after': '0' }) },
          });
    },
  });
  const result = await client.operation('pay').fetch('/pay', { body: '5' });
  expect(result).toMatchObject({ outcome: 'refused', why: 'stored', response: { status: 402 } });
  expect(asked).toEqual(['POST /pay', 'POST /pay', 'POST /pay', 'POST /pay']);
});
