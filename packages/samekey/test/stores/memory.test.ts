/** The memory store: the contract, and its size limit. */

import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { claimed, claimRequest, finished } from '../../src/testing/contract/context.ts';
import { storeContract } from '../../src/testing/store-contract.ts';

storeContract(
  { describe, it },
  {
    name: 'memory',
    auditsTransitions: true,
    async create(options = { auditTransitions: false }) {
      let now = Date.UTC(2030, 0);
      return {
        store: memoryStore({ ...options, now: () => now }),
        advance: (ms) => {
          now += ms;
        },
        close: async () => undefined,
      };
    },
  },
);

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
