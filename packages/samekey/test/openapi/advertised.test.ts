/** What is told before a request, on a server that listens. */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { parseList } from 'structured-headers';
import { expect, it } from 'vitest';
import { idempotent, type RouteOptions } from '../../src/adapters/express/index.ts';
import { markProtected, routesOf } from '../../src/coverage/index.ts';
import { icebergRest, square } from '../../src/dialects/index.ts';
import { acceptedKeys, retentionOf, WELL_KNOWN_PATH, wellKnown } from '../../src/openapi/index.ts';
import { createSamekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';

const samekey = createSamekey({ store: memoryStore() });
const handler = (_req: unknown, res: { end(): void }): void => res.end();

function protect(options: Partial<RouteOptions<express.Request>>): express.RequestHandler {
  return idempotent(samekey, { scope: () => 'acme', ...options } as RouteOptions<express.Request>);
}

it('a header of any answer and of OPTIONS, and a document, say what each route needs', async () => {
  const app = express();
  app.use((req, res, next) => {
    res.set(acceptedKeys(routesOf(app), req.path));
    if (req.method === 'OPTIONS') res.status(204).end();
    else next();
  });
  app.get(WELL_KNOWN_PATH, (_req, res) => void res.json(wellKnown(routesOf(app))));
  app.get('/payments', handler);
  app.post('/payments', protect({ policy: 'payments', retentionMs: 90_500 }), handler);
  app.put('/payments', protect({ policy: 'payments', required: false, header: 'X-Key' }), handler);
  app.post('/square', protect({ policy: 'payments', dialect: square }), handler);
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    // An answer whose request could not be told by its own answer: it was never sent.
    const read = await fetch(`${origin}/payments`);
    const line = read.headers.get('accept-idempotency-key') ?? '';
    expect(line).toBe(
      'POST;required;retention=90;in=header;name="Idempotency-Key", PUT;retention=86400;in=header;name="X-Key"',
    );
    expect(parseList(line).map(([, parameters]) => parameters.get('required'))).toEqual([true, undefined]);
    const asked = await fetch(`${origin}/square`, { method: 'OPTIONS' });
    expect(asked.headers.get('accept-idempotency-key')).toBe(
      'POST;required;retention=86400;in=body;member="/idempotency_key"',
    );
    const document = (await (await fetch(`${origin}${WELL_KNOWN_PATH}`)).json()) as {
      readonly operations: readonly object[];
    };
    expect(document.operations).toMatchObject([
      {
        method: 'POST',
        path: '/payments',
        required: true,
        retention: 'PT90.5S',
        key: { name: 'Idempotency-Key' },
      },
      { method: 'PUT', path: '/payments', required: false, key: { in: 'header', name: 'X-Key' } },
      { method: 'POST', path: '/square', key: { in: 'body', member: '/idempotency_key' } },
    ]);
    expect((await fetch(`${origin}/none`)).headers.get('accept-idempotency-key')).toBeNull();
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

it('the retention of a function, as Iceberg tells it', () => {
  expect(retentionOf(protect({ dialect: icebergRest }))).toBe('PT30M');
  expect(() => retentionOf(handler)).toThrow('nothing is known of its keys');
});

it('is not silent about a protection whose options are not known', () => {
  const app = express();
  const own = markProtected((_req: unknown, _res: unknown, next: () => void) => next(), {
    methods: new Set(['POST']),
    required: true,
    answers: false,
  });
  app.post('/payments', own, handler);
  expect(() => wellKnown(routesOf(app))).toThrow('would mislead');
  expect(() => acceptedKeys(routesOf(app), '/payments')).toThrow('would mislead');
});
