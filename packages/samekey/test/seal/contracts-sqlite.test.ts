/** A sealed SQLite store holds all contracts, with every client that this Node can load. */

import { engineContract } from '../../../testing/src/engine-contract.ts';
import { outboxContract, type OutboxUnderTest } from '../../../testing/src/outbox-contract.ts';
import { storeContract } from '../../../testing/src/store-contract.ts';
import { availableClients, sqliteHarness } from '../stores/sqlite-clients.ts';
import { ASYNC_RING, RING, sealing } from './rings.ts';
import { partOf } from '../stores/slice.ts';

for (const [index, { name, open }] of availableClients().entries()) {
  const harness = sqliteHarness(`${name}, sealed,`, open, sealing(RING));
  const runner = partOf(`sealed ${name}`, index === 0);
  storeContract(runner, harness);
  engineContract(runner, harness);
  for (const ring of [RING, ASYNC_RING]) {
    const each = sqliteHarness(
      `${name}, sealed ${ring === RING ? 'at once' : 'by a KMS'},`,
      open,
      sealing(ring),
    );
    outboxContract(runner, { name: each.name, create: async () => (await each.create()) as OutboxUnderTest });
  }
}
