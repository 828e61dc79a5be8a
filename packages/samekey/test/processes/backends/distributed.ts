/**
 * The distributed PostgreSQL store: on a PostgreSQL of the tests, and on a Citus cluster that somebody else runs. A place is a database of
 * its own; on Citus a schema, because a new database would need the extension on every node.
 */

import { Client } from 'pg';
import { type DistributedEngine, distributedPostgresStore } from 'samekey/stores/postgres/distributed';
import { citusUrl } from '../../services/citus.ts';
import { anyPostgres, startPostgres } from '../../services/postgres.ts';
import { type BackendKind, type OpenStore, type StoreAddress, textOf } from './backend.ts';
import { postgresBackendOn } from './postgres.ts';

function openOn(address: StoreAddress, engine: DistributedEngine): OpenStore {
  const connectionString = textOf(address, 'url');
  const statementTimeMaxMs = address['statementTimeMaxMs'];
  const store = distributedPostgresStore({
    service: 'test',
    connect: () => new Client({ connectionString }),
    engine,
    ...(typeof address['schema'] === 'string' ? { schema: address['schema'] } : {}),
    ...(typeof statementTimeMaxMs === 'number' ? { statementTimeMaxMs } : {}),
  });
  return { store, close: () => store.close() };
}

/** Address: as of PostgreSQL. */
export const distributedBackend: BackendKind = {
  name: 'distributed',
  proofsOnly: true,
  isAvailable: () => anyPostgres() !== undefined,
  open: (address) => openOn(address, 'other'),
  async start({ medium = 'memory' } = {}) {
    const source = anyPostgres();
    if (source === undefined) throw new Error('This machine has no PostgreSQL.');
    const postgres = await postgresBackendOn(await startPostgres(source, {}, medium), false);
    return {
      ...postgres,
      name: 'distributed',
      async createPlace() {
        const place = await postgres.createPlace();
        const address = { ...place.address, backend: 'distributed' };
        return { ...place, address, direct: address };
      },
    };
  },
};

let places = 0;

/** Address: `url` and `schema`. */
export const citusBackend: BackendKind = {
  name: 'citus',
  proofsOnly: true,
  isAvailable: () => citusUrl() !== undefined,
  open: (address) => openOn(address, 'citus'),
  async start() {
    const url = citusUrl();
    if (url === undefined) throw new Error('SAMEKEY_TEST_CITUS_URL names no Citus.');
    return {
      name: 'citus',
      faults: {},
      async createPlace() {
        places += 1;
        const schema = `proof_${process.pid}_${places}`;
        const address = { backend: 'citus', url, schema };
        return {
          address,
          direct: address,
          async remove() {
            const client = new Client({ connectionString: url });
            await client.connect();
            await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
            await client.end();
          },
        };
      },
      close: async () => undefined,
    };
  },
};
