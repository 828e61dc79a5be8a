/** A sealed PostgreSQL store holds all contracts, with both clients. */

import { afterAll, beforeAll, describe } from 'vitest';
import { engineContract } from '../../../testing/src/engine-contract.ts';
import { outboxContract, type OutboxUnderTest } from '../../../testing/src/outbox-contract.ts';
import { storeContract } from '../../../testing/src/store-contract.ts';
import { anyPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { partOf } from '../stores/slice.ts';
import { CLIENTS, postgresHarness } from '../stores/postgres-clients.ts';
import { RING, sealing } from './rings.ts';

const source = anyPostgres();

describe.runIf(source !== undefined)('sealed', () => {
  let server: PostgresServer;
  let url = '';
  beforeAll(async () => {
    server = await startPostgres(source as NonNullable<typeof source>);
    url = await server.createDatabase();
  });
  afterAll(() => server.stop());

  for (const client of CLIENTS) {
    const harness = postgresHarness('sealed PostgreSQL', () => url, client, sealing(RING));
    const runner = partOf(`sealed PostgreSQL, ${client.name}`, false);
    storeContract(runner, harness);
    engineContract(runner, harness);
    outboxContract(runner, {
      name: harness.name,
      create: async () => (await harness.create()) as OutboxUnderTest,
    });
  }
});
