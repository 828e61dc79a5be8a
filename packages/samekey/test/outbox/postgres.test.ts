/** PostgreSQL holds the outbox contract, on every server this machine can run and with both clients. */

import { afterAll, beforeAll, describe } from 'vitest';
import { outboxContract, type OutboxUnderTest } from '../../../testing/src/outbox-contract.ts';
import { availablePostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { partOf } from '../stores/slice.ts';
import { CLIENTS, postgresHarness } from '../stores/postgres-clients.ts';

const SOURCES = availablePostgres();

for (const source of SOURCES) {
  describe(source.name, () => {
    let server: PostgresServer;
    let url = '';
    beforeAll(async () => {
      server = await startPostgres(source);
      url = await server.createDatabase();
    });
    afterAll(() => server.stop());

    for (const client of source.name.includes('Debian') ? CLIENTS.slice(0, 1) : CLIENTS) {
      const harness = postgresHarness(source.name, () => url, client);
      outboxContract(
        partOf(`${source.name}, ${client.name}`, source === SOURCES[0] && client === CLIENTS[0]),
        { name: harness.name, create: async () => (await harness.create()) as OutboxUnderTest },
      );
    }
  });
}
