/** When a bridge may go, as a store tells it (F111). */

import { expect, it } from 'vitest';
import { bridgeEnds } from '../../src/engine/bridge/bridge-ends.ts';
import { createSamekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';

const HOUR_MS = 3_600_000;

it('the last record that only code without the bridge has kept says when its entry may go', async () => {
  const world = fakeWorld();
  const store = memoryStore({ now: () => world.wallNow() });
  const retention = { retentionMs: 2 * HOUR_MS, replayMinMs: 0, retryWindowMs: 0 };
  const samekey = createSamekey({ store, world, policy: 'payments', ...retention });
  const ask = (key: string, names: object): Promise<unknown> =>
    samekey.run({ scope: ['t'], key, fingerprint: null, operation: 'charge', ...names }, () => 'paid');
  const [old, bridged] = [{ operation: 'pay' }, { formerly: ['pay'] }];

  await ask('a', old);
  expect(await bridgeEnds(store)).toEqual([]);
  await world.advance(HOUR_MS);
  await ask('b', bridged);
  const lastOfOld = world.wallNow();
  await ask('c', old);
  await world.advance(HOUR_MS);
  await ask('d', bridged);
  expect(await bridgeEnds(store)).toEqual([
    {
      operation: 'charge',
      formerly: 'pay',
      laidAt: world.wallNow(),
      isKnown: true,
      pastAt: lastOfOld + 2 * HOUR_MS,
    },
  ]);
  await world.advance(2 * HOUR_MS);
  await store.reap(100);
  expect(await bridgeEnds(store)).toMatchObject([{ pastAt: null, isKnown: true }]);
});

it('where only the scope has changed it is not known', async () => {
  const store = memoryStore();
  const samekey = createSamekey({ store, policy: 'payments' });
  const formerly = [{ scope: ['t'] }];
  await samekey.run(
    { scope: ['acme', 't'], key: 'a', fingerprint: null, operation: 'pay', formerly },
    () => 'paid',
  );
  expect(await bridgeEnds(store)).toMatchObject([{ operation: 'pay', formerly: 'pay', isKnown: false }]);
});
