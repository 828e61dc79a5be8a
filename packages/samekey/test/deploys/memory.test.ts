/** Deploys on the memory store, whole; what was met is what the guide says. */

import { describe, it } from 'vitest';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { deployContract } from '../../../testing/src/deploys-contract.ts';
import { compareWithGuide } from './table.ts';

deployContract(
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
  compareWithGuide,
);
