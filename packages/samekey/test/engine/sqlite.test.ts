/** Whole engines on SQLite files, with every client that this Node can load. */

import { describe, it } from 'vitest';
import { engineContract } from '../../src/testing/engine-contract.ts';
import { availableClients, sqliteHarness } from '../stores/sqlite-clients.ts';

for (const { name, open } of availableClients()) {
  engineContract({ describe, it }, sqliteHarness(name, open));
}
