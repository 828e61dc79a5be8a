/** Memory stores for the contracts: on a clock that only `advance` moves. */

import { type MemoryStore, memoryStore } from '../../src/stores/memory/index.ts';
import type { StoreUnderTest } from '../../../testing/src/contract/context.ts';
import type { OutboxUnderTest } from '../../../testing/src/outbox-contract.ts';
import type { StoreHarness } from '../../../testing/src/store-contract.ts';

/** The contract's harness. `wrap` puts something around each store. */
export function memoryHarness(
  name = 'memory',
  wrap: (store: MemoryStore) => Pick<MemoryStore, keyof MemoryStore> = (store) => store,
): StoreHarness & { create(): Promise<OutboxUnderTest & StoreUnderTest> } {
  return {
    name,
    auditsTransitions: true,
    async create(options: { readonly auditTransitions: boolean } = { auditTransitions: false }) {
      let now = Date.UTC(2030, 0);
      const store = wrap(memoryStore({ ...options, now: () => now }));
      return {
        store,
        advance: (ms: number) => {
          now += ms;
        },
        transaction: (body) => store.transaction((tx) => body(store.within(tx))),
        close: async () => undefined,
      };
    },
  };
}
