/** The k-th call of the store meets a fault, in every way: on the memory store. */

import { describe, it } from 'vitest';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { kthContract } from '../../src/testing/kth-contract.ts';

kthContract(
  { describe, it },
  {
    name: 'memory',
    async create() {
      let now = Date.UTC(2030, 0);
      return {
        store: memoryStore({ now: () => now }),
        advance: (ms) => {
          now += ms;
        },
        close: async () => undefined,
      };
    },
  },
);
