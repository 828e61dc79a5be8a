/** References of sealed stores: found by those who have the keys, also after the keys were rotated, and told by none of them. */

import { expect, it } from 'vitest';
import { keyRing, sealed, type SealRing } from '../../src/seal/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { claimed } from '../../../testing/src/contract/context.ts';
import type { Store } from '../../src/store/store.ts';

const [one, two] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
const first = keyRing({ current: 'k1', keys: { k1: one } });
const second = keyRing({ current: 'k2', keys: { k1: one, k2: two } });

async function refer(store: Store, key: string, reference: string): Promise<void> {
  const owner = await claimed(store, { key });
  const checkpoint = {
    claimTtlMs: 10_000,
    recoveryPoint: null,
    steps: '{"v":1,"steps":[]}',
    intentOpen: true,
  };
  await store.checkpoint([{ ...owner, ...checkpoint, reference: { reference, effect: 'charge' } }]);
}

const led = async (store: Store, reference: string): Promise<readonly string[]> =>
  ((await store.references?.find([reference], 10)) ?? []).map(({ key }) => key);

it('a reference is kept as a digest under the ring’s key, and found by it after the key is rotated', async () => {
  const clear = memoryStore();
  await refer(sealed(clear, first), 'a', 'r');
  expect(await led(clear, 'r')).toEqual([]);
  expect(await led(sealed(clear, keyRing({ current: 'k2', keys: { k2: two } })), 'r')).toEqual([]);
  await refer(sealed(clear, second), 'b', 'r');
  expect((await led(sealed(clear, second), 'r')).toSorted()).toEqual(['a', 'b']);
  expect(await led(sealed(clear, first), 'r')).toEqual(['a']);
});

it('one of before anything was sealed is found, and so is one of code that only opens', async () => {
  const clear = memoryStore();
  await refer(clear, 'a', 'r');
  await refer(sealed(clear, first, { sealsNew: false }), 'b', 'r');
  expect((await led(sealed(clear, first), 'r')).toSorted()).toEqual(['a', 'b']);
});

it('steps of calls under way are opened, and what cannot be opened may be under way', async () => {
  const clear = memoryStore();
  await refer(sealed(clear, first), 'a', 'r');
  const calls = async (ring: typeof first) =>
    sealed(clear, ring).references?.underWay(['POST /payments'], 10);
  expect(await calls(first)).toMatchObject([{ key: 'a', steps: '{"v":1,"steps":[]}' }]);
  expect(await calls(keyRing({ current: 'k2', keys: { k2: two } }))).toMatchObject([
    { key: 'a', steps: null },
  ]);
});

it('a ring that makes no digests keeps none: records are looked for by reading', async () => {
  const clear = memoryStore();
  const store = sealed(clear, { ...first, digests: undefined } as unknown as SealRing);
  expect(store.references).toBeUndefined();
  await refer(store, 'a', 'r');
  expect(await led(clear, 'r')).toEqual([]);
  expect(await led(sealed(clear, first), 'r')).toEqual([]);
});
