/** Paths of a route as they were under a former one: values go by the names of their parameters. */

import { describe, expect, test } from 'vitest';
import { faultOfMove, movedPath, readRoute, type RoutePattern } from '../../src/engine/bridge/moved-path.ts';

function route(text: string): RoutePattern {
  const read = readRoute(text);
  if (read === null) throw new Error(`${text} is no route`);
  return read;
}

describe('a path of a moved route', () => {
  // F59, F113
  test.each([
    ['/v2/payments/:id', '/v1/payments/:id', '/v2/payments/7', '/v1/payments/7'],
    ['/v2/payments/:id', '/v2/payments/:paymentId', '/v2/payments/7', '/v2/payments/7'],
    ['/v2/payments/:id', '/payments/{id}', '/v2/payments/7', '/payments/7'],
    ['/payments/:id', '/api/v1/payments/:id', '/payments/7/', '/api/v1/payments/7/'],
    ['/t/:t/pay/:p', '/tenants/:t/payments/:p', '/t/a%2Fb/pay/7', '/tenants/a%2Fb/payments/7'],
    ['/b/:y/a/:x', '/a/:x/b/:y', '/b/2/a/1', '/a/1/b/2'],
    ['/from-:a-to-:b', '/:b/:a', '/from-a-b-to-c', '/c/a-b'],
    ['/v2/payments{/:id}', '/v1/payments{/:id}', '/v2/payments', '/v1/payments'],
    ['/v2/payments{/:id}', '/v1/payments{/:id}', '/v2/payments/7', '/v1/payments/7'],
    ['/v2/files/*rest', '/v1/files/*rest', '/v2/files/a/b/c', '/v1/files/a/b/c'],
    ['/v2/pay', '/v1/pay', '/V2/PAY', '/v1/PAY'],
    ['/pay', '/pay/', '/pay', '/pay/'],
    ['/pay/', '/pay', '/pay/', '/pay'],
    ['/pay', '/', '/pay', '/'],
  ])('from %s to %s: %s is %s', (now, former, path, expected) => {
    expect(faultOfMove(route(now), route(former))).toBeNull();
    expect(movedPath(path, route(now), route(former))).toBe(expected);
  });

  test.each([
    ['a parameter was added', '/:tenant/pay', '/v1/pay', /"tenant" now and none/],
    ['a parameter was left out', '/pay', '/:tenant/pay', /none now and "tenant"/],
    ['names do not match', '/v2/u/:user', '/v1/users/:id', /"user" now and "id"/],
    ['a name is not given', '/v2/payments/:id', 'POST /v1/payments/:', /no name/],
    ['a name stands twice', '/v2/:a/:a', '/v1/:a/:b', /two parameters/],
    ['a wildcard itself moved', '/a/*x/b', '/c/*x/d', /more than literals/],
  ])('has no way where %s', (_, now, former, fault) => {
    expect(faultOfMove(route(now), route(former))).toMatch(fault);
  });

  test('is none of the pattern where it does not fit', () => {
    for (const path of ['/v1/pay/7', '/', '/v3'])
      expect(movedPath(path, route('/v2/pay/:id'), route('/v1/pay/:id'))).toBeNull();
  });

  test('is found without backtracking', () => {
    // Quadratic work would take minutes: the time limit of every test ends it.
    const names = Array.from({ length: 50 }, (_, i) => `-:p${i}`).join('');
    const path = `/x${'-a'.repeat(50_000)}!`;
    expect(movedPath(path, route(`/x${names}-z`), route(`/y${names}-y`))).toBeNull();
  });
});

test('a route is a path, perhaps with its method; nothing else', () => {
  expect(readRoute('POST /v1/:id')).toMatchObject({ method: 'POST', erased: '/v1/:' });
  expect(readRoute('/v1/:id')).toMatchObject({ method: null, erased: '/v1/:' });
  for (const text of ['pay', '*', '', 'post /v1', 'POST v1']) expect(readRoute(text)).toBeNull();
});
