/** Whole engines on the distributed store: on PostgreSQL, and on Citus where its URL is given. */

import { afterAll, beforeAll, describe, it } from 'vitest';
import { engineContract } from '../../../testing/src/engine-contract.ts';
import { citusUrl } from '../services/citus.ts';
import { anyPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { CLIENTS } from '../stores/postgres-clients.ts';
import { distributedHarness } from '../stores/postgres-distributed-harness.ts';

const source = anyPostgres();
const [pg] = CLIENTS;

describe.runIf(source !== undefined)('on PostgreSQL', () => {
  let server: PostgresServer;
  let url = '';
  beforeAll(async () => {
    if (source === undefined) return;
    server = await startPostgres(source);
    url = await server.createDatabase();
  });
  afterAll(() => server.stop());
  if (pg !== undefined) {
    engineContract(
      { describe, it },
      distributedHarness({ name: source?.name ?? '', engine: 'other', url: () => url }, pg),
    );
  }
});

const citus = citusUrl();

describe.runIf(citus !== undefined)('on Citus', () => {
  if (pg !== undefined) {
    engineContract(
      { describe, it },
      distributedHarness({ name: 'Citus', engine: 'citus', url: () => citus ?? '' }, pg),
    );
  }
});
