/** Deploys on PostgreSQL, whole; the same table. */

import { afterAll, beforeAll, describe, it } from 'vitest';
import { deployContract } from '../../../testing/src/deploys-contract.ts';
import { availablePostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { CLIENTS, postgresHarness } from '../stores/postgres-clients.ts';
import { compareWithGuide } from './table.ts';

for (const source of availablePostgres().slice(0, 1)) {
  describe(source.name, () => {
    let server: PostgresServer;
    let url = '';
    beforeAll(async () => {
      server = await startPostgres(source);
      url = await server.createDatabase();
    });
    afterAll(() => server.stop());

    for (const client of CLIENTS.slice(0, 1)) {
      deployContract(
        { describe, it },
        postgresHarness(source.name, () => url, client),
        compareWithGuide,
      );
    }
  });
}
