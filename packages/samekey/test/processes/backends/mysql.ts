/**
 * MySQL or MariaDB: a place is a database of its own on one server. With faults wanted, the processes reach it through a proxy.
 */

import { createConnection } from 'mysql2/promise';
import { mysqlStore } from 'samekey/stores/mysql';
import { startFaultProxy } from '../../services/fault-proxy.ts';
import { availableMysql, type MysqlServer, type MysqlSource, startMysql } from '../../services/mysql.ts';
import { mysqlWire } from '../../services/mysql-wire.ts';
import { type Backend, type BackendKind, type Place, textOf } from './backend.ts';
import { oneOf, proxyFaults, serverFaults } from './faults.ts';

/** Address: `url`, and `statementTimeMaxMs` of the store. */
export const mysqlBackend: BackendKind = {
  name: 'mysql',
  isAvailable: () => anyMysql() !== undefined,
  open(address) {
    const url = textOf(address, 'url');
    const statementTimeMaxMs = address['statementTimeMaxMs'];
    const store = mysqlStore({
      service: 'test',
      connect: () => createConnection(url),
      ...(typeof statementTimeMaxMs === 'number' ? { statementTimeMaxMs } : {}),
    });
    return { store, close: () => store.close() };
  },
  async start({ faulty = false, medium = 'memory' } = {}) {
    const source = anyMysql();
    if (source === undefined) throw new Error('This machine has no MySQL or MariaDB.');
    return mysqlBackendOn(await startMysql(source, {}, medium), faulty);
  },
};

/** A server that may be killed: a MySQL if its program was named, else MariaDB. */
export function anyMysql(): MysqlSource | undefined {
  const ours = availableMysql().filter(({ programs }) => programs !== null);
  return ours.find(({ name }) => name === 'MySQL') ?? ours[0];
}

/** Two of these can be joined: MySQL says all of that in other words. */
export function anyMariadb(): MysqlSource | undefined {
  return availableMysql().find(({ name }) => name === 'MariaDB');
}

/** The store's statements, which have no names, and the end of a transaction. */
export const MYSQL_STATEMENTS = {
  claim: /^INSERT INTO \S*samekey_records /,
  finish: /^UPDATE \S*samekey_records AS r .*r\.`state` = /s,
  renew: /^UPDATE (?!.*r\.`state` = )\S*samekey_records AS r .*r\.`renewals` = /s,
  find: /^SELECT .*samekey_records AS r /s,
  commit: /^COMMIT\b/i,
} as const;

/** The backend on a server that runs; it stops the server at its end. */
export async function mysqlBackendOn(server: MysqlServer, faulty: boolean): Promise<Backend> {
  const proxy = faulty ? await startFaultProxy(server.url(), mysqlWire) : undefined;
  return {
    name: 'mysql',
    createPlace: async () => mysqlPlaceOn(await server.createDatabase(), proxy),
    faults: {
      ...serverFaults(server),
      ...(proxy !== undefined && proxyFaults(proxy, oneOf(Object.values(MYSQL_STATEMENTS)))),
    },
    async close() {
      await proxy?.close();
      await server.stop();
    },
  };
}

/** The database of a URL, through the proxy if there is one. */
export function mysqlPlaceOn(url: string, proxy?: { readonly url: string }): Place {
  const through = new URL(url);
  if (proxy !== undefined) through.port = new URL(proxy.url).port;
  return {
    address: { backend: 'mysql', url: through.href },
    direct: { backend: 'mysql', url },
    // It goes with its server.
    remove: async () => undefined,
  };
}
