/** Operations: a name that survives renamed parameters and moved mount points (F59). */
import { describe, expect, test } from 'vitest';
import { namesOldestFirst, operationOf } from '../../src/core/operation.ts';

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

describe('the names of an operation', () => {
  // F59: old code knows only the oldest name, so a claim goes there.
  test('are told oldest first, the present one last, each once', () => {
    expect(namesOldestFirst({ name: 'a' })).toEqual(['a']);
    expect(namesOldestFirst({ name: 'a', formerly: [] })).toEqual(['a']);
    expect(namesOldestFirst({ name: 'c', formerly: ['a', 'b'] })).toEqual(['a', 'b', 'c']);
    expect(namesOldestFirst({ name: 'a', formerly: ['a', 'b', 'b'] })).toEqual(['b', 'a']);
  });
});
