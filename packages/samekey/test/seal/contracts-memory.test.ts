/** A sealed memory store holds the contracts, with a synchronous ring and with one that has to be waited for. */

import { describe, it } from 'vitest';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { engineContract } from '../../src/testing/engine-contract.ts';
import { type StoreHarness, storeContract } from '../../src/testing/store-contract.ts';
import { ASYNC_RING, RING, sealing } from './rings.ts';

for (const [name, ring] of [
  ['sealed memory', RING],
  ['memory sealed by a KMS', ASYNC_RING],
] as const) {
  const harness: StoreHarness = {
    name,
    auditsTransitions: true,
    async create(options = { auditTransitions: false }) {
      let now = Date.UTC(2030, 0);
      return {
        store: sealing(ring)(memoryStore({ ...options, now: () => now })),
        advance: (ms) => {
          now += ms;
        },
        close: async () => undefined,
      };
    },
  };
  storeContract({ describe, it }, harness);
  engineContract({ describe, it }, harness);
}
