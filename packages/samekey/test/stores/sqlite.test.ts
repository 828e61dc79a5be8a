/** The SQLite store holds the contract with every client that this Node can load. */

import { storeContract } from '../../../testing/src/store-contract.ts';
import { availableClients, sqliteHarness } from './sqlite-clients.ts';
import { partOf } from './slice.ts';

for (const [index, { name, open }] of availableClients().entries()) {
  storeContract(partOf(name, index === 0), sqliteHarness(name, open));
}
