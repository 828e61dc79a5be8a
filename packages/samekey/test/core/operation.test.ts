/** Operations: a name that survives renamed parameters and moved mount points (F59). */
import { describe, expect, test } from 'vitest';
import { identityOf, operationOf, otherNames, rewritePath } from '../../src/core/operation.ts';

describe('the name of an operation', () => {
  test.each([
    ['post', '/payments', 'POST /payments'],
    ['POST', '', 'POST /'],
    ['POST', '/payments/:id', 'POST /payments/:'],
    ['POST', '/payments/:payment_id/items/:item', 'POST /payments/:/items/:'],
    ['POST', '/:größe/x', 'POST /:/x'],
    ['POST', '/:"any name"/x', 'POST /:/x'],
    // Express 5
    ['POST', '/payments{/:opt}', 'POST /payments{/:}'],
    ['POST', '/:file{.:ext}', 'POST /:{.:}'],
    ['POST', '/files/*splat', 'POST /files/*'],
    ['POST', '/{*splat}', 'POST /{*}'],
    ['POST', String.raw`/a\:b/:c`, String.raw`POST /a\:b/:`],
    // Express 4
    ['POST', String.raw`/payments/:id(\d+)`, 'POST /payments/:'],
    ['POST', String.raw`/payments/:id((\d+|a\)b))/x`, 'POST /payments/:/x'],
    ['POST', '/payments/:id?', 'POST /payments/:?'],
    ['POST', '/files/*', 'POST /files/*'],
    ['POST', '/a(?:b)?', 'POST /a(?:b)?'],
    ['POST', '/flights/:from-:to', 'POST /flights/:-:'],
    // Fastify, Hono, OpenAPI, Next
    ['POST', '/a::b/:c', String.raw`POST /a\:b/:`],
    ['POST', '/posts/:date{[0-9]+}/:title{[a-z]+}', 'POST /posts/:/:'],
    ['POST', '/payments/{id}/x', 'POST /payments/:/x'],
    ['POST', '/files/{proxy+}', 'POST /files/*'],
    ['POST', '/payments/[id]', 'POST /payments/:'],
    ['POST', '/files/[...slug]', 'POST /files/*'],
    ['POST', '/payments/:id(', 'POST /payments/:('],
  ])('of %s %s is %s', (method, pattern, name) => {
    expect(operationOf(method, pattern)).toBe(name);
  });

  // F59
  test('stays when a parameter is renamed or its constraint changes', () => {
    expect(operationOf('POST', '/payments/:id')).toBe(operationOf('POST', '/payments/:paymentId'));
    expect(operationOf('POST', String.raw`/payments/:id(\d+)`)).toBe(
      operationOf('POST', '/payments/:uuid([0-9a-f-]+)'),
    );
    expect(operationOf('POST', '/files/*path')).toBe(operationOf('POST', '/files/*splat'));
  });

  test('differs for another method, another literal, another number of parameters or an optional one', () => {
    const names = [
      operationOf('POST', '/a/:b'),
      operationOf('PATCH', '/a/:b'),
      operationOf('POST', '/A/:b'),
      operationOf('POST', '/a'),
      operationOf('POST', '/a/:b/:c'),
      operationOf('POST', '/a{/:b}'),
      operationOf('POST', '/a/b'),
      operationOf('POST', '/a/*b'),
    ];
    expect(new Set(names).size).toBe(names.length);
  });

  test('stays as it is when it is made again', () => {
    for (const pattern of ['/a/:', '/a/*', '/a{/:}', '/:-:'])
      expect(operationOf('POST', pattern)).toBe(`POST ${pattern}`);
  });

  test('takes time linear in the pattern', () => {
    // Quadratic work would take minutes: the time limit of every test ends it.
    expect(operationOf('POST', `/:a${'('.repeat(1_000_000)}`)).toContain('(((');
    expect(operationOf('POST', '/:a"'.repeat(200_000))).toContain('/:');
  });
});

describe('the identity of an operation', () => {
  const moved = { name: 'POST /v3/pay/:', formerly: ['POST /v1/pay/:', 'POST /v2/pay/:'] };

  // F59: old code knows only the oldest name, so records stay under it.
  test('is the oldest former name, else the name', () => {
    expect(identityOf({ name: 'a' })).toBe('a');
    expect(identityOf({ name: 'a', formerly: [] })).toBe('a');
    expect(identityOf(moved)).toBe('POST /v1/pay/:');
  });

  test('leaves all other names to be looked up too, the present one first', () => {
    expect(otherNames({ name: 'a' })).toEqual([]);
    expect(otherNames(moved)).toEqual(['POST /v3/pay/:', 'POST /v2/pay/:']);
    expect(otherNames({ name: 'a', formerly: ['a', 'b', 'b'] })).toEqual(['b']);
  });
});

describe('a path of a moved operation', () => {
  // F59
  test.each([
    ['POST /v2/payments/:', 'POST /v1/payments/:', '/v2/payments/7', '/v1/payments/7'],
    ['POST /v2/payments/:', 'POST /payments/:', '/v2/payments/7', '/payments/7'],
    ['POST /payments/:', 'POST /api/v1/payments/:', '/payments/7/', '/api/v1/payments/7/'],
    ['POST /t/:/pay/:', 'POST /tenants/:/payments/:', '/t/a%2Fb/pay/7', '/tenants/a%2Fb/payments/7'],
    ['POST /from-:-to-:', 'POST /:/:', '/from-a-b-to-c', '/a-b/c'],
    ['POST /v2/payments{/:}', 'POST /v1/payments{/:}', '/v2/payments', '/v1/payments'],
    ['POST /v2/payments{/:}', 'POST /v1/payments{/:}', '/v2/payments/7', '/v1/payments/7'],
    ['POST /pay{/:}', 'POST /payments{/:}', '/pay/7', '/payments/7'],
    ['POST /v2/files/*', 'POST /v1/files/*', '/v2/files/a/b/c', '/v1/files/a/b/c'],
    ['POST /v2/pay', 'POST /v1/pay', '/V2/PAY', '/v1/PAY'],
  ])('from %s to %s: %s is %s', (name, former, path, expected) => {
    expect(rewritePath(path, { name, formerly: [former] })).toBe(expected);
  });

  test.each([
    ['one name is not a route', 'pay', 'POST /v1/pay', '/v2/pay'],
    ['the other name is not a route', 'POST /v2/pay', 'pay', '/v2/pay'],
    ['the method changed', 'POST /v2/pay', 'PUT /v1/pay', '/v2/pay'],
    ['the number of parameters changed', 'POST /v2/:/pay', 'POST /v1/pay', '/v2/7/pay'],
    ['the path is of another pattern', 'POST /v2/pay/:', 'POST /v1/pay/:', '/v1/pay/7'],
    ['the path is too short', 'POST /a/b/:', 'POST /c/:', '/a'],
    ['a parameter would be empty', 'POST /a-:', 'POST /b-:', '/a-'],
    ['the wildcard itself moved', 'POST /a/*/b', 'POST /c/*/d', '/a/x/y/b'],
    ['parameters touch in the present name', 'POST /a::/x', 'POST /:/:/x', '/axy/x'],
    ['parameters touch', 'POST /a::', 'POST /b::', '/axy'],
  ])('is unchanged when %s', (_, name, former, path) => {
    expect(rewritePath(path, { name, formerly: [former] })).toBe(path);
  });

  test('is unchanged without a former name', () => {
    expect(rewritePath('/v2/pay', { name: 'POST /v2/pay' })).toBe('/v2/pay');
  });

  test('is found without backtracking', () => {
    // Quadratic work would take minutes: the time limit of every test ends it.
    const many = `/x${'-:'.repeat(50)}`;
    const path = `/x${'-a'.repeat(50_000)}!`;
    expect(rewritePath(path, { name: `POST ${many}-z`, formerly: [`POST ${many}-y`] })).toBe(path);
  });
});
