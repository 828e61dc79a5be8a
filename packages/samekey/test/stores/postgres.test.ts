/** The PostgreSQL store holds the contract, on every server this machine can run and with both clients. */

import { afterAll, beforeAll, describe } from 'vitest';
import { storeContract } from '../../../testing/src/store-contract.ts';
import { availablePostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { partOf } from './slice.ts';
import { CLIENTS, postgresHarness } from './postgres-clients.ts';

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

    // What a client does does not depend on who built the server.
    for (const client of source.name.includes('Debian') ? CLIENTS.slice(0, 1) : CLIENTS) {
      storeContract(
        partOf(`${source.name}, ${client.name}`, source === SOURCES[0] && client === CLIENTS[0]),
        postgresHarness(source.name, () => url, client),
      );
    }
  });
}
