/** The SQLite store holds the contract with every client that this Node can load. */

import { describe, it } from 'vitest';
import { storeContract } from '../../src/testing/store-contract.ts';
import { availableClients, sqliteHarness } from './sqlite-clients.ts';

for (const { name, open } of availableClients()) {
  storeContract({ describe, it }, sqliteHarness(name, open));
}
