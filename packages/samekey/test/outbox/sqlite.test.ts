/** SQLite holds the outbox contract with every client that this Node can load. */

import { describe, it } from 'vitest';
import { outboxContract, type OutboxUnderTest } from '../../src/testing/outbox-contract.ts';
import { availableClients, sqliteHarness } from '../stores/sqlite-clients.ts';

for (const { name, open } of availableClients()) {
  const harness = sqliteHarness(name, open);
  outboxContract(
    { describe, it },
    { name: harness.name, create: async () => (await harness.create()) as OutboxUnderTest },
  );
}
