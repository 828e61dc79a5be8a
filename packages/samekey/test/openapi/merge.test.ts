/** Merging what protected routes say into a document, and comparing the two. */

import express from 'express';
import { expect, it } from 'vitest';
import { idempotent, type RouteOptions } from '../../src/adapters/express/index.ts';
import { coverage, coverageText, exempt, markProtected, routesOf } from '../../src/coverage/index.ts';
import { idempotencyPage, mergeInto } from '../../src/openapi/index.ts';
import { createSamekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { expectOpenApi } from './kit.ts';

const samekey = createSamekey({ store: memoryStore(), policy: 'payments' });
const handler = (_req: unknown, res: { end(): void }): void => res.end();

function protect(options: Partial<RouteOptions<express.Request>> = {}): express.RequestHandler {
  return idempotent(samekey, { scope: () => 'acme', ...options } as RouteOptions<express.Request>);
}

function shop(): express.Express {
  const app = express();
  app.post('/orders/:id/pay', protect(), handler);
  app.post('/orders', protect(), handler);
  app.post('/search', exempt('reads only'), handler);
  app.post('/hidden', protect(), handler);
  return app;
}

interface Document {
  readonly openapi: string;
  readonly info: object;
  readonly servers?: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Record<string, unknown>>>>>;
  readonly components?: { readonly responses?: Readonly<Record<string, unknown>> };
}

function documentOf(paths: Document['paths'], more: Partial<Document> = {}): Document {
  return { openapi: '3.1.0', info: { title: 'Shop', version: '1' }, paths, ...more };
}

const OK = { 200: { description: 'Paid.' } };

it('adds parameters, answers and rules, shares equal answers, and the document is valid and covered', async () => {
  const given = documentOf({
    '/orders/{orderId}/pay': { post: { responses: OK } },
    '/orders': { post: { responses: OK }, get: { responses: OK } },
    '/search': { post: { responses: OK } },
  });
  const before = structuredClone(given);
  const app = shop();
  const { document, told } = mergeInto(given, routesOf(app));
  expect(given).toEqual(before);
  await expectOpenApi(document);
  const paid = document.paths['/orders/{orderId}/pay']?.['post'];
  expect(paid).toMatchObject({
    parameters: [{ name: 'Idempotency-Key', in: 'header', required: true }],
    responses: {
      200: { description: 'Paid.', headers: { 'Idempotency-Replayed': {} } },
      409: { $ref: '#/components/responses/Idempotency409' },
    },
    'x-idempotency': { required: true, retention: 'PT24H' },
  });
  expect(document.paths['/orders']?.['post']?.['responses']).toMatchObject({
    409: { $ref: '#/components/responses/Idempotency409' },
  });
  expect(document.paths['/orders']?.['get']).toEqual({ responses: OK });
  expect(document.paths['/search']?.['post']).toMatchObject({ 'x-idempotency-exempt': 'reads only' });
  expect(told).toEqual([
    { method: 'POST', path: '/hidden', what: '', why: 'The document has no such operation.' },
  ]);
  expect(coverage(document).isFull).toBe(true);
  expect(coverage(app, { document }).disagreements).toEqual([]);
  // Nothing is merged twice.
  const again = mergeInto(document, routesOf(app));
  expect(again.document.paths['/orders']?.['post']?.['parameters']).toHaveLength(1);
});

it('what the author wrote stands, and is told where it says something else', async () => {
  const mine = {
    description: 'Mine.',
    content: { 'application/problem+json': { schema: { type: 'string' } } },
  };
  const author = {
    parameters: [{ name: 'idempotency-key', in: 'header', required: false, schema: { type: 'string' } }],
    responses: {
      201: { description: 'Paid.', headers: { 'idempotency-replayed': { schema: { type: 'boolean' } } } },
      400: { description: 'Wrong.', content: { 'application/json': { schema: { type: 'object' } } } },
      409: mine,
      422: { $ref: '#/components/responses/Mine' },
    },
    'x-idempotency': { required: true },
  };
  const given = documentOf({ '/orders': { post: author } }, { components: { responses: { Mine: mine } } });
  const app = express();
  app.post('/orders', protect(), handler);
  const { document, told } = mergeInto(given, routesOf(app));
  await expectOpenApi(document);
  const merged = document.paths['/orders']?.['post'] as typeof author;
  expect(merged.parameters).toEqual(author.parameters);
  expect(merged['x-idempotency']).toEqual({ required: true });
  expect(merged.responses[409].content).toEqual(mine.content);
  expect(merged.responses[409]).toMatchObject({ description: 'Mine.', headers: { 'Retry-After': {} } });
  expect(merged.responses[422]).toEqual({ $ref: '#/components/responses/Mine' });
  expect(merged.responses[201].headers['idempotency-replayed']).toEqual({ schema: { type: 'boolean' } });
  expect(Object.keys(merged.responses[201].headers)).not.toContain('Idempotency-Replayed');
  expect(merged.responses[400].content).toMatchObject({
    'application/json': { schema: { type: 'object' } },
    'application/problem+json': { schema: { required: expect.arrayContaining(['code', 'type']) } },
  });
  expect(told.map(({ what }) => what).toSorted()).toEqual([
    'parameters/Idempotency-Key',
    'responses/409/content/application/problem+json',
    'responses/422',
    'x-idempotency',
  ]);
});

it('paths below the address of a server are found, and other answers get another name', () => {
  const app = express();
  app.post('/v1/orders', protect(), handler);
  app.post('/v1/refunds', protect({ profile: 'stripe' }), handler);
  const given = documentOf(
    { '/orders': { post: {} }, '/refunds': { post: {} } },
    { servers: [{ url: 'https://api.example/v1' }] },
  );
  const { document, told } = mergeInto(given, routesOf(app));
  expect(told).toEqual([]);
  expect(document.paths['/orders']?.['post']?.['responses']).toMatchObject({
    '2XX': { headers: { 'Idempotency-Replayed': {} } },
    400: { $ref: '#/components/responses/Idempotency400' },
  });
  expect(document.paths['/refunds']?.['post']?.['responses']).toMatchObject({
    '2XX': { headers: { 'Idempotent-Replayed': {} } },
    400: { $ref: '#/components/responses/Idempotency400-2' },
  });
});

it('is told of protections whose options are not known, and refuses older documents', () => {
  const own = markProtected((_req: unknown, _res: unknown, next: () => void) => next(), {
    methods: new Set(['POST']),
    required: true,
    answers: false,
  });
  const app = express();
  app.post('/orders', own, handler);
  const { told } = mergeInto(documentOf({ '/orders': { post: {} } }), routesOf(app));
  expect(told[0]?.why).toContain('its options are not known');
  expect(() => mergeInto({ openapi: '3.0.3', paths: {} }, routesOf(app))).toThrow('3.1 or newer');
  expect(() => mergeInto({}, routesOf(app))).toThrow('its version is null');
  expect(() => idempotencyPage(routesOf(app))).toThrow('would mislead');
});

const KEY = { name: 'Idempotency-Key', in: 'header', required: true, schema: { type: 'string' } };

it('coverage tells where document and application say different things', () => {
  const app = express();
  app.post('/orders', protect(), handler);
  app.post('/refunds', handler);
  app.put('/orders/:id', protect({ required: false }), handler);
  app.post('/quotes', protect(), handler);
  app.post('/payouts', protect({ header: 'X-Key' }), handler);
  const document = documentOf({
    '/orders': { post: {} },
    '/orders/{no}': { put: { parameters: [KEY] } },
    '/refunds': { post: { parameters: [KEY] } },
    '/quotes': { post: { 'x-idempotency-exempt': 'reads only' } },
    '/payouts': { post: { parameters: [KEY] } },
    '/gone': { post: { 'x-idempotency': { required: true } } },
  });
  const report = coverage(app, { document, exempt: [{ path: '/refunds', reason: 'a demo' }] });
  expect(report.disagreements.map(({ method, path, why }) => `${method} ${path}: ${why}`)).toEqual([
    'POST /orders: The application refuses requests without a key; the document does not say that it needs one.',
    'PUT /orders/:id: The document says that it needs a key; the application runs requests without one (required: false).',
    'POST /payouts: The application refuses requests without a key; the document does not say that it needs one.',
    'POST /quotes: The document says that it is exempt; the application protects it.',
    'POST /refunds: The document says that it needs a key; the application does not protect it.',
    'POST /gone: The document says that it needs a key; the application has no such route.',
  ]);
  expect(report.gaps).toEqual([]);
  expect(report.isFull).toBe(false);
  expect(coverageText(report)).toContain('The OpenAPI document says something else:');
  expect(() => coverage(app, { document: {} })).toThrow('OpenAPI 3 document');
});
