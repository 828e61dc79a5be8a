/**
 * PostgreSQL: a place is a database of its own on one server. With faults wanted, the processes reach it through a proxy.
 */

import { Client } from 'pg';
import { postgresStore } from 'samekey/stores/postgres';
import { startFaultProxy } from '../../services/fault-proxy.ts';
import { postgresWire } from '../../services/pg-wire.ts';
import { anyPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { type Backend, type BackendKind, type Place, textOf } from './backend.ts';
import { oneOf, proxyFaults, serverFaults } from './faults.ts';

/** Address: `url`, and `statementTimeMaxMs` of the store. */
export const postgresBackend: BackendKind = {
  name: 'postgres',
  isAvailable: () => anyPostgres() !== undefined,
  open(address) {
    const connectionString = textOf(address, 'url');
    const statementTimeMaxMs = address['statementTimeMaxMs'];
    const store = postgresStore({
      service: 'test',
      connect: () => new Client({ connectionString }),
      ...(typeof statementTimeMaxMs === 'number' ? { statementTimeMaxMs } : {}),
    });
    return { store, close: () => store.close() };
  },
  async start({ faulty = false, medium = 'memory' } = {}) {
    const source = anyPostgres();
    if (source === undefined) throw new Error('This machine has no PostgreSQL.');
    const server = await startPostgres(source, {}, medium);
    return postgresBackendOn(server, faulty);
  },
};

/** The statements of the store, by their names (`statements.ts`), and a user's COMMIT. */
export const STATEMENTS = {
  claim: /^samekey_claim_/,
  finish: /^samekey_finish_(?!within)/,
  renew: /^samekey_renew_/,
  find: /^samekey_find_/,
  commit: /^commit\b/i,
} as const;

/** The backend on a server that runs; it stops the server at its end. */
export async function postgresBackendOn(server: PostgresServer, faulty: boolean): Promise<Backend> {
  const proxy = faulty ? await startFaultProxy(server.url(), postgresWire) : undefined;
  return {
    name: 'postgres',
    createPlace: async () => placeOn(await server.createDatabase(), proxy),
    faults: {
      ...serverFaults(server),
      ...(proxy !== undefined &&
        proxyFaults(proxy, oneOf([STATEMENTS.claim, STATEMENTS.finish, STATEMENTS.renew, STATEMENTS.find]))),
    },
    async close() {
      await proxy?.close();
      await server.stop();
    },
  };
}

/** The database of a URL, through the proxy if there is one. */
export function placeOn(url: string, proxy?: { readonly url: string }): Place {
  const through = new URL(url);
  if (proxy !== undefined) through.port = new URL(proxy.url).port;
  return {
    address: { backend: 'postgres', url: through.href },
    direct: { backend: 'postgres', url },
    // It goes with its server.
    remove: async () => undefined,
  };
}
