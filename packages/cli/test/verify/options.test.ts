/** What verify refuses before anything is sent, and where a credential goes. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { type VerifyOptions, verify } from '../../src/verify/index.ts';
import { Service } from './server.ts';

const URL_OF_NOBODY = 'http://127.0.0.1:1/orders';

it.each<[string, Partial<VerifyOptions>, RegExp]>([
  ['an option that nothing reads', { retries: 3 } as never, /no option "retries"/],
  ['a URL that is none', { url: 'orders' }, /url must be an http or https URL/],
  [
    'another origin for the other path',
    { otherUrl: 'http://127.0.0.1:2/x' },
    /otherUrl must be of the same origin/,
  ],
  ['another origin for GET', { getUrl: 'http://127.0.0.1:2/x' }, /getUrl must be of the same origin/],
  ['a scenario that there is not', { only: ['everything'] }, /no scenario "everything"/],
  ['a time that is too long to wait for', { expiresMs: 60_000 }, /expiresMs/],
  ['a rate of nothing', { rateMax: 0 }, /rateMax/],
])('%s is refused', async (_what, change, message) => {
  await expect(verify({ url: URL_OF_NOBODY, ...change })).rejects.toThrow(message);
});

it('a counter of another origin is not sent the credential of the operation', async () => {
  const service = await Service.start(null);
  const seen: (string | undefined)[] = [];
  const counter = createServer((req, res) => {
    seen.push(req.headers.authorization);
    res.end(String(service.executions));
  });
  counter.listen(0, '127.0.0.1');
  await once(counter, 'listening');
  try {
    const report = await verify({
      url: `${service.origin}/orders`,
      headers: { Authorization: 'shop-a.secret' },
      count: { url: `http://127.0.0.1:${(counter.address() as AddressInfo).port}/` },
      only: ['runs-once', 'get-untouched'],
    });
    expect(report.findings.map(({ verdict }) => verdict)).toEqual(['held', 'held']);
    expect(seen.length).toBeGreaterThan(3);
    expect(new Set(seen)).toEqual(new Set([undefined]));
  } finally {
    counter.close();
    await service.close();
  }
});
