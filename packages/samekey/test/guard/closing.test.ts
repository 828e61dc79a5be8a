/** What an instance tells and writes about its own bounds: counts when it closes, claims that are short for its store, long keys. */

import { memoryStore } from 'samekey/stores/memory';
import { expect, it } from 'vitest';
import { createLimits } from '../../src/guard/index.ts';
import { createSamekey, type SamekeyEvent } from '../../src/index.ts';
import type { Counters } from '../../src/store/counters.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';

const REQUEST = { operation: 'order', scope: ['acme'], key: 'a', fingerprint: null } as const;

function counted(add: Counters['add']) {
  const events: SamekeyEvent[] = [];
  const memory = memoryStore();
  const counters: Counters = {
    add,
    read: async (callers) => new Map(callers.map((caller) => [caller, 0])),
    recount: async () => 0,
  };
  const limits = createLimits({
    activeKeys: { store: { name: 'memory', counters }, max: 10, flushMs: 60_000 },
  });
  const onEvent = (event: SamekeyEvent): void => void events.push(event);
  return { samekey: createSamekey({ store: memory, policy: 'standard', limits, onEvent }), events };
}

it('closing writes down what its limits have counted', async () => {
  const added: (readonly [string, number])[] = [];
  const { samekey } = counted(async (changes) => void added.push(...changes));
  await samekey.run(REQUEST, () => 'made');
  expect(added).toEqual([]);
  expect(await samekey.close()).toBe(0);
  expect(added).toHaveLength(1);
  expect(added[0]?.[1]).toBe(1);
});

it('counts that cannot be written are told of, and hold up no closing', async () => {
  const failure = new Error('the store is away');
  const { samekey, events } = counted(() => Promise.reject(failure));
  await samekey.run(REQUEST, () => 'made');
  expect(await samekey.close()).toBe(0);
  expect(events.filter(({ type }) => type === 'limiter-failed')).toEqual([
    expect.objectContaining({ operation: 'order', error: failure }),
  ]);
});

it('a claim that one slow call of the store could outlast is warned of, once for each operation', async () => {
  const world = fakeWorld();
  const samekey = createSamekey({ store: memoryStore(), world, policy: 'standard', storeTimeMaxMs: 2_000 });
  await samekey.run(REQUEST, () => 'made');
  for (const key of ['b', 'c']) await samekey.run({ ...REQUEST, key, claimTtlMs: 5_999 }, () => 'made');
  await samekey.run({ ...REQUEST, key: 'd', claimTtlMs: 6_000, operation: 'refund' }, () => 'made');
  expect(world.warnings).toEqual([expect.stringMatching(/^claim-short: .*"order" last 5999 ms/)]);
});

it('samekey.run takes a key as long as any route may allow, and none that is longer', async () => {
  const samekey = createSamekey({ store: memoryStore(), policy: 'standard' });
  const long = { ...REQUEST, key: 'k'.repeat(1_024) };
  expect(await samekey.run(long, () => 'made')).toMatchObject({ kind: 'executed' });
  expect(await samekey.run(long, () => 'again')).toMatchObject({ kind: 'replay', value: 'made' });
  await expect(samekey.run({ ...REQUEST, key: 'k'.repeat(1_025) }, () => 'made')).rejects.toMatchObject({
    code: 'ERR_SAMEKEY_KEY',
    fault: 'too-long',
    message: expect.stringContaining('at most 1024') as string,
  });
});
