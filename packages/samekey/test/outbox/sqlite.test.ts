/** SQLite holds the outbox contract with every client that this Node can load. */

import { outboxContract, type OutboxUnderTest } from '../../../testing/src/outbox-contract.ts';
import { availableClients, sqliteHarness } from '../stores/sqlite-clients.ts';
import { partOf } from '../stores/slice.ts';

for (const [index, { name, open }] of availableClients().entries()) {
  const harness = sqliteHarness(name, open);
  outboxContract(partOf(name, index === 0), {
    name: harness.name,
    create: async () => (await harness.create()) as OutboxUnderTest,
  });
}
