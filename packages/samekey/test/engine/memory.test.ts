/** Whole engines on the memory store. */

import { describe, it } from 'vitest';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { engineContract } from '../../src/testing/engine-contract.ts';

engineContract(
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
