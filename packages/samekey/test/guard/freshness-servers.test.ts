/** Signed times over real servers: what the client signs is what the server sees, behind routers, queries and escapes. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { Router } from 'express';
import { createSamekey } from 'samekey';
import { idempotent as forExpress } from 'samekey/express';
import { idempotent as forFetch } from 'samekey/fetch';
import { timeSigner } from 'samekey/guard';
import { memoryStore } from 'samekey/stores/memory';
import { expect, it } from 'vitest';

const secret = new Uint8Array(32).fill(7);
const freshness = { secrets: { client: secret } };
const sign = timeSigner({ name: 'client', secret });
const PATHS = ['/api/things/1', '/api/things/a%20b?dry=1&x=%2F', '/api/things/ä?q=ö'];

async function send(url: string, signedUrl = url): Promise<Request> {
  const key = crypto.randomUUID();
  const time = await sign({ method: 'POST', url: signedUrl, key });
  return new Request(url, {
    method: 'POST',
    headers: { 'Idempotency-Key': `"${key}"`, [time[0]]: time[1], 'Content-Type': 'application/json' },
    body: '{"a":1}',
  });
}

it('a mounted Express router takes what was signed for its whole address, and nothing else', async () => {
  const samekey = createSamekey({ store: memoryStore(), policy: 'standard' });
  const app = express();
  const router = Router();
  router.post('/things/:id', forExpress(samekey, { scope: () => ['acme'], freshness }), (_req, res) => {
    res.status(201).json({ made: true });
  });
  app.use('/api', router);
  const server = createServer(app).listen(0);
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    for (const path of PATHS) {
      expect((await fetch(await send(origin + path))).status).toBe(201);
      const other = await fetch(await send(origin + path, `${origin}/api/things/2`));
      expect([other.status, ((await other.json()) as { code: string }).code]).toEqual([
        400,
        'request-time-invalid',
      ]);
    }
  } finally {
    server.close();
  }
});

it('a fetch handler takes what was signed for its whole address, and nothing else', async () => {
  const samekey = createSamekey({ store: memoryStore(), policy: 'standard' });
  const handler = forFetch(samekey, { scope: () => ['acme'], freshness }, async () => new Response('made'));
  for (const path of PATHS) {
    const url = `https://api.example${path}`;
    expect((await handler(await send(url))).status).toBe(200);
    expect((await handler(await send(url, 'https://api.example/api/things/2'))).status).toBe(400);
  }
});
