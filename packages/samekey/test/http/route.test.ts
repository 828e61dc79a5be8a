/** A route's defaults; what is refused is in the adapter contract. */

import { expect, it } from 'vitest';
import { singleTenant } from '../../src/core/scope.ts';
import { ietf } from '../../src/http/profiles/ietf.ts';
import { stripe } from '../../src/http/profiles/stripe.ts';
import { compileRoute, type RouteOptions } from '../../src/http/route.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';

function compile(options: RouteOptions<unknown>) {
  return compileRoute({}, options, fakeWorld());
}
const GOOD: RouteOptions<unknown> = { policy: 'standard', scope: singleTenant() };

it('a route protects what changes something, asks POST and PATCH wherever it stands, requires a key, and keeps a MiB of request and answer', () => {
  expect(compile(GOOD)).toMatchObject({
    methods: new Set(['POST', 'PATCH', 'PUT', 'DELETE']),
    asked: new Set(['POST', 'PATCH']),
    uniqueFor: 'operation',
    wasUniqueFor: null,
    required: true,
    header: 'idempotency-key',
    headerName: 'Idempotency-Key',
    otherHeaders: [],
    operation: null,
    formerly: [],
    requestSizeMaxBytes: 1_048_576,
    responseSizeMaxBytes: 1_048_576,
    bufferTimeMaxMs: 1_000,
    profile: { name: 'ietf' },
    settings: { claimTtlMs: 30_000, retentionMs: 86_400_000, attemptMax: 10, storeSetCookie: false },
  });
});

it('a route takes what the instance says, unless it says otherwise', () => {
  const defaults = { policy: 'payments', retentionMs: 1_000 } as const;
  const route = compileRoute(defaults, { scope: singleTenant(), retentionMs: 2_000 }, fakeWorld());
  expect(route.settings).toMatchObject({ policy: { name: 'payments' }, retentionMs: 2_000 });
});

it('names of the form METHOD /pattern have their parameter names erased, others are kept', () => {
  const { operation, formerly } = compile({
    ...GOOD,
    operation: 'pay',
    formerly: ['POST /v1/pay/:id', { name: 'POST /pay/{id}' }, { path: '/pay/:id' }],
  });
  expect(operation).toBe('pay');
  expect(formerly.map(({ name, pattern }) => [name, pattern?.erased])).toEqual([
    ['POST /v1/pay/:', '/v1/pay/:'],
    ['POST /pay/:', '/pay/:'],
    [null, '/pay/:'],
  ]);
});

it('an entry of formerly that says nothing, or what nobody reads, is refused', () => {
  for (const [entry, said] of [
    [{}, /says nothing/],
    [{ names: 'pay' }, /no option "formerly\[0\].names"/],
    [{ path: 'v1' }, /path pattern/],
    [{ scope: ['t'] }, /is a function/],
    [7, /takes an object/],
    ['', /not empty/],
  ] as const)
    expect(() => compile({ ...GOOD, formerly: [entry as never] })).toThrow(said);
});

it('a profile made by ietf is taken as it is', () => {
  const profile = ietf({ inProgressStatus: 425 });
  expect(compile({ ...GOOD, profile }).profile).toBe(profile);
});

it('the scope of a single tenant is given for every request', () => {
  expect(compile(GOOD).scope('anything')).toBe(singleTenant());
});

it('a list that only looks like the single tenant is refused', () => {
  for (const scope of [['*'], [...singleTenant()], JSON.parse('["*"]')]) {
    expect(() => compile({ ...GOOD, scope: scope as never })).toThrow(/needs a scope/);
  }
});

// F89
it.each([
  ['the function that makes it', stripe, 'call it'],
  ['a bigint', 10n, 'it is 10'],
  ['a symbol', Symbol('stripe'), 'it is a symbol'],
  ['an object that cannot be shown', { self: 1n }, 'it is an object'],
])('a profile that is %s is refused with what to do', (_what, profile, message) => {
  const refused = () => compile({ ...GOOD, profile: profile as never });
  expect(refused).toThrow(
    expect.objectContaining({ code: 'ERR_SAMEKEY_OPTIONS', message: expect.stringContaining(message) }),
  );
});
