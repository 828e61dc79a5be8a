/** Whole engines on SQLite files, with every client that this Node can load. */

import { engineContract } from '../../../testing/src/engine-contract.ts';
import { availableClients, sqliteHarness } from '../stores/sqlite-clients.ts';
import { partOf } from '../stores/slice.ts';

for (const [index, { name, open }] of availableClients().entries()) {
  engineContract(partOf(name, index === 0), sqliteHarness(name, open));
}
