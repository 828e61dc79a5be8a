/** Limits as a client of an HTTP service meets them. */

import { expect, it } from 'vitest';
import { createLimits } from 'samekey/guard';
import { createStatus } from '../../src/http/status.ts';
import { codeOf, exchangeOf } from '../http/fake-exchange.ts';
import { limited, limiterOf } from './limited.ts';

const key = (text: string) => ({ headers: [['Idempotency-Key', text]] as const });

it('over the limit the answer is a 429 problem with Retry-After, and the handler does not run', async () => {
  const { samekey } = limited({ newKeys: limiterOf(1) });
  expect((await exchangeOf(samekey, {}, key('a'))).end).toBe('released');
  const refused = await exchangeOf(samekey, {}, key('b'));
  expect([codeOf(refused), refused.answer?.status, refused.calls]).toEqual([
    'limited',
    429,
    ['readBody', 'replaced'],
  ]);
  expect(refused.answer?.headers).toContainEqual(['Retry-After', '60']);
  expect((await exchangeOf(samekey, {}, key('a'))).answer?.status).toBe(201);
});

it('looks at a status resource are limited, found or not, and another caller’s key answers as one that never was', async () => {
  const bench = limited({ looks: limiterOf(3) });
  const operation = bench.samekey.plain({ name: 'bill', run: () => 'billed' });
  await operation.run({ scope: ['acme'], key: 'a', input: null });
  const look = createStatus<{ who: string; key: string }>(operation, {
    scope: ({ who }) => [who],
    key: (request) => request.key,
  });
  const found = await look({ who: 'acme', key: 'a' });
  const foreign = await look({ who: 'umbrella', key: 'a' });
  const never = await look({ who: 'umbrella', key: 'never' });
  expect([found.status, foreign.status]).toEqual([200, 404]);
  expect(foreign).toEqual(never);
  expect((await look({ who: 'umbrella', key: 'guess' })).status).toBe(404);
  const reads = bench.calls.length;
  const refused = await look({ who: 'umbrella', key: 'a' });
  expect([refused.status, bench.calls.length]).toEqual([429, reads]);
  expect((await look({ who: 'acme', key: 'a' })).status).toBe(200);
});

it('a route’s own limits take the place of the instance’s', async () => {
  const { samekey } = limited({ newKeys: limiterOf(0) });
  expect((await exchangeOf(samekey, {}, key('a'))).answer?.status).toBe(429);
  const own = createLimits({ newKeys: limiterOf(1) });
  expect((await exchangeOf(samekey, { limits: own }, key('a'))).end).toBe('released');
  expect((await exchangeOf(samekey, { limits: own }, key('b'))).answer?.status).toBe(429);
});
