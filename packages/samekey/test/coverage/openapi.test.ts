/** Coverage of OpenAPI documents. */

import { expect, it } from 'vitest';
import { coverage } from '../../src/coverage/index.ts';

const KEY = { name: 'Idempotency-Key', in: 'header', required: true };

function document(paths: object, components: object = {}): object {
  return { openapi: '3.1.0', info: { title: 'pay', version: '1' }, paths, components };
}

it('an operation is protected if it declares the key as a required header, in whatever place', () => {
  const paths = {
    '/own': { post: { parameters: [KEY] }, get: {} },
    '/of-the-path': { parameters: [{ ...KEY, name: 'idempotency-key' }], post: {}, put: {} },
    '/by-reference': { post: { parameters: [{ $ref: '#/components/parameters/Key' }] } },
    '/whole-path': { $ref: '#/components/pathItems/Pay~1it' },
    '/optional': { post: { parameters: [{ ...KEY, required: false }] } },
    '/overridden': { parameters: [KEY], post: { parameters: [{ ...KEY, required: false }] } },
    '/in-query': { post: { parameters: [{ ...KEY, in: 'query' }] } },
    '/none': { delete: {} },
  };
  const report = coverage(
    document(paths, { parameters: { Key: KEY }, pathItems: { 'Pay/it': { post: { parameters: [KEY] } } } }),
  );
  expect(
    report.routes.map(({ method, path, protectedBy }) => `${method} ${path} ${protectedBy ?? '-'}`),
  ).toEqual([
    'POST /by-reference samekey',
    'POST /in-query -',
    'DELETE /none -',
    'POST /of-the-path samekey',
    'PUT /of-the-path samekey',
    'POST /optional -',
    'POST /overridden -',
    'POST /own samekey',
    'POST /whole-path samekey',
  ]);
  expect(report.gaps.find(({ path }) => path === '/optional')?.reason).toContain('not as required');
});

it('an operation is exempt with a reason, and not without one', () => {
  const report = coverage(
    document({
      '/a': { post: { 'x-idempotency-exempt': 'reads only' } },
      '/b': { post: { 'x-idempotency-exempt': true } },
      '/c': { post: { 'x-idempotency-exempt': ' ' } },
    }),
  );
  expect(report.routes.map(({ protectedBy }) => protectedBy)).toEqual(['exempt', null, null]);
  expect(report.gaps[0]?.reason).toContain('needs a reason');
});

it('another header may carry the key', () => {
  const paths = { '/a': { post: { parameters: [{ ...KEY, name: 'X-Request-Key' }] } } };
  expect(coverage(document(paths)).isFull).toBe(false);
  expect(coverage(document(paths), { header: 'x-request-key' }).isFull).toBe(true);
});

it('what stands in another document, or nowhere, is not seen', () => {
  const report = coverage(
    document({
      '/elsewhere': { $ref: './paths.yaml#/pay' },
      '/round': { $ref: '#/paths/~1round' },
      '/missing': { post: { parameters: [{ $ref: '#/components/parameters/Missing' }] } },
    }),
  );
  expect(report.unseen.map(({ where }) => where)).toEqual(['/elsewhere', '/round', 'POST /missing']);
  expect(report.isFull).toBe(false);
});

// F115
it('operations beside a reference are judged too, and those of the reference', () => {
  const paths = { '/x': { $ref: '#/components/pathItems/Pay', put: {}, post: {} } };
  const report = coverage(
    document(paths, { pathItems: { Pay: { post: { parameters: [KEY] }, delete: {} } } }),
  );
  expect(report.isFull).toBe(false);
  expect(report.gaps.map(({ method }) => method).toSorted()).toEqual(['DELETE', 'POST', 'PUT']);
});

// F115
it('a document without a state-changing operation is not full', () => {
  expect(coverage(document({ '/x': { get: {} } }))).toMatchObject({
    isFull: false,
    unseen: [{ where: 'the application' }],
  });
});
