/** A sealed memory store holds the contracts, with a synchronous ring and with one that has to be waited for. */

import { describe, it } from 'vitest';
import { engineContract } from '../../../testing/src/engine-contract.ts';
import { outboxContract } from '../../../testing/src/outbox-contract.ts';
import { storeContract } from '../../../testing/src/store-contract.ts';
import { memoryHarness } from '../stores/memory-harness.ts';
import { ASYNC_RING, RING, sealing } from './rings.ts';

for (const [name, ring] of [
  ['sealed memory', RING],
  ['memory sealed by a KMS', ASYNC_RING],
] as const) {
  const harness = memoryHarness(name, sealing(ring));
  storeContract({ describe, it }, harness);
  engineContract({ describe, it }, harness);
  outboxContract({ describe, it }, harness);
}
