/** What the doctor says of bridges across deploys (F111): which stand, and whether one may go. */

import { createSamekey } from 'samekey';
import { memoryStore } from 'samekey/stores/memory';
import { expect, it } from 'vitest';
import { bridges } from '../src/doctor/bridges.ts';
import type { Finding, Patient } from '../src/doctor/finding.ts';

const HOUR_MS = 3_600_000;

it('a bridge of names stays until what only old code has kept is past, then it may go', async () => {
  const store = memoryStore();
  const samekey = createSamekey({ store, policy: 'payments', retentionMs: HOUR_MS, retryWindowMs: 0 });
  const ask = (key: string, names: object): Promise<unknown> =>
    samekey.run({ scope: ['t'], key, fingerprint: null, operation: 'charge', ...names }, () => 'paid');
  const look = async (now: number): Promise<readonly Finding[]> =>
    bridges({ store, now, windows: { retryMs: null } } as unknown as Patient);
  expect(await look(Date.now())).toEqual([]);
  await ask('a', { operation: 'pay' });
  await ask('b', { formerly: ['pay'] });
  const [early] = await look(Date.now());
  expect(early).toMatchObject({ level: 'note', measured: { formerly: 'pay', mayGo: false } });
  expect(early?.remedy).toMatch(/^Keep the entry of formerly until then/);
  const [late] = await look(Date.now() + 2 * HOUR_MS);
  expect(late).toMatchObject({ level: 'note', measured: { formerly: 'pay', mayGo: true } });
  expect(late?.remedy).toMatch(/may be taken out/);
});

it('of a bridge of scopes only the rule can be told', async () => {
  const store = memoryStore();
  const samekey = createSamekey({ store, policy: 'payments', retentionMs: HOUR_MS, retryWindowMs: 0 });
  const formerly = [{ scope: ['t'] }];
  await samekey.run(
    { scope: ['acme', 't'], key: 'a', fingerprint: null, operation: 'charge', formerly },
    () => 'paid',
  );
  const windows = { retryMs: null };
  const [found] = await bridges({ store, now: Date.now(), windows } as unknown as Patient);
  expect(found).toMatchObject({ level: 'note', measured: { formerly: 'charge', mayGo: false } });
  expect(found?.remedy).toMatch(/one retention after the last process without it has left, not sooner/);
});
