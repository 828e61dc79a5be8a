/**
 * The distributed store holds the contract: on PostgreSQL with postgres.js (with pg: postgres-restricted.test.ts), and on Citus with
 * both clients where its URL is given.
 */

import { afterAll, beforeAll, describe, it } from 'vitest';
import { storeContract } from '../../src/testing/store-contract.ts';
import { citusUrl } from '../services/citus.ts';
import { anyPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { CLIENTS } from './postgres-clients.ts';
import { distributedHarness } from './postgres-distributed-harness.ts';

const source = anyPostgres();

describe.runIf(source !== undefined)('on PostgreSQL', () => {
  let server: PostgresServer;
  let url = '';
  beforeAll(async () => {
    if (source === undefined) return;
    server = await startPostgres(source);
    url = await server.createDatabase();
  });
  afterAll(() => server.stop());

  for (const client of CLIENTS.filter(({ name }) => name === 'postgres.js')) {
    storeContract(
      { describe, it },
      distributedHarness({ name: source?.name ?? '', engine: 'other', url: () => url }, client),
    );
  }
});

const citus = citusUrl();

describe.runIf(citus !== undefined)('on Citus', () => {
  for (const client of CLIENTS) {
    storeContract(
      { describe, it },
      distributedHarness({ name: 'Citus', engine: 'citus', url: () => citus ?? '' }, client),
    );
  }
});
