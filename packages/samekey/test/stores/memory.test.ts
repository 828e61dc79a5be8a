/** The memory store: the contract, and its size limit. */

import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { claimed, claimRequest, finished } from '../../../testing/src/contract/context.ts';
import { storeContract } from '../../../testing/src/store-contract.ts';
import { memoryHarness } from './memory-harness.ts';

storeContract({ describe, it }, memoryHarness());

// F49
it('a full memory store refuses new keys and drops no claim and no answer', async () => {
  const store = memoryStore({ recordsMax: 2 });
  const owner = await claimed(store, { key: 'open' });
  await finished(store, 'completed', { key: 'done' });
  expect(await store.claim([claimRequest({ key: 'new' })])).toEqual([{ kind: 'full' }]);
  expect((await store.find([owner]))[0]?.state).toBe('in_progress');
  expect((await store.claim([claimRequest({ key: 'done' })]))[0]?.kind).toBe('found');
});

// F49
it('a memory store that is full of answers refuses new keys', async () => {
  const store = memoryStore({ bytesMax: 10 });
  await finished(store, 'completed', { key: 'done' });
  expect(await store.claim([claimRequest({ key: 'new' })])).toEqual([{ kind: 'full' }]);
  expect((await store.claim([claimRequest({ key: 'done' })]))[0]?.kind).toBe('found');
});
