/** The page that an API publishes on its keys. */

import express from 'express';
import { expect, it } from 'vitest';
import { idempotent, type RouteOptions } from '../../src/adapters/express/index.ts';
import { exempt, routesOf } from '../../src/coverage/index.ts';
import { adyen } from '../../src/dialects/index.ts';
import { idempotencyPage } from '../../src/openapi/index.ts';
import { spoken } from '../../src/openapi/words.ts';
import { createSamekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';

const samekey = createSamekey({ store: memoryStore(), policy: 'payments' });
const handler = (_req: unknown, res: { end(): void }): void => res.end();

function protect(options: Partial<RouteOptions<express.Request>> = {}): express.RequestHandler {
  return idempotent(samekey, { scope: () => 'acme', ...options } as RouteOptions<express.Request>);
}

it('says of each request what the draft asks for: key, uniqueness, fingerprint, expiry, errors', () => {
  const app = express();
  app.post('/orders', protect(), handler);
  app.post('/orders/:id/pay', protect(), handler);
  app.post(
    '/payouts',
    protect({ dialect: adyen, required: false, tombstoneMs: 30 * 24 * 3_600_000 }),
    handler,
  );
  app.post('/search', exempt('reads only'), handler);
  app.post('/logs', handler);
  app.get('/orders', handler);
  const page = idempotencyPage(routesOf(app), { title: 'Keys' });
  const lines = page.split('\n');
  expect(lines[0]).toBe('# Keys');
  expect(lines.filter((line) => line.startsWith('| `'))).toEqual([
    '| `POST /orders` | required, in the header `Idempotency-Key` |',
    '| `POST /orders/{id}/pay` | required, in the header `Idempotency-Key` |',
    '| `POST /payouts` | optional: without one a retry takes effect again, in the header `Idempotency-Key` |',
    '| `POST /search` | none: reads only |',
    '| `POST /logs` | none is taken: a request that is sent again takes effect again |',
  ]);
  expect(lines.filter((line) => line.startsWith('## '))).toEqual([
    '## `POST /orders`, `POST /orders/{id}/pay`',
    '## `POST /payouts`',
  ]);
  const [orders = '', payouts = ''] = page.split('\n## ').slice(1);
  expect(orders).toContain('up to 255 printable ASCII characters, with or without double quotes.');
  expect(orders).toContain('**Unique for**: the caller and the operation');
  expect(orders).toContain(
    '**Compared (fingerprint)**: method, path, query and the body (JSON by its values).',
  );
  expect(orders).toContain(
    '**Kept for (expiry)**: 24 hours from the first use on. After that it would run as a new one',
  );
  expect(orders).toContain('| 422 | The key was used for another request.');
  expect(orders).toContain('| 409 | The operation is in progress.');
  expect(orders).not.toContain('The key has expired');
  expect(payouts).toContain(
    '**Kept for (expiry)**: 7 days from the first use on. For 30 days more it is refused',
  );
  expect(payouts).toContain('up to 64 printable');
  expect(payouts).toContain('**Unique for**: the caller, whatever the operation');
  expect(payouts).toContain('The key has expired');
  expect(() => idempotencyPage({ routes: [] })).toThrow('nothing to publish');
});

it.each([
  [1, '1 millisecond'],
  [1_500, '1,500 milliseconds'],
  [90_000, '90 seconds'],
  [3_600_000, '1 hour'],
  [86_400_000, '24 hours'],
  [172_800_000, '2 days'],
])('%i ms are %s', (ms, words) => {
  expect(spoken(ms)).toBe(words);
});
