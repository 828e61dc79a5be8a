/**
 * MySQL or MariaDB: a place is a database of its own on one server. With faults wanted, the processes reach it through a proxy, which
 * does not read its protocol: it can cut connections and make them deaf, not lose one reply.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { createConnection } from 'mysql2/promise';
import { mysqlStore } from 'samekey/stores/mysql';
import { startFaultProxy } from '../../services/fault-proxy.ts';
import { availableMysql, startMysql } from '../../services/mysql.ts';
import { type BackendKind, textOf } from './backend.ts';

/** Address: `url`, and `statementTimeMaxMs` of the store. */
export const mysqlBackend: BackendKind = {
  name: 'mysql',
  isAvailable: () => availableMysql().some(({ programs }) => programs !== null),
  open(address) {
    const url = textOf(address, 'url');
    const statementTimeMaxMs = address['statementTimeMaxMs'];
    const store = mysqlStore({
      connect: () => createConnection(url),
      ...(typeof statementTimeMaxMs === 'number' ? { statementTimeMaxMs } : {}),
    });
    return { store, close: () => store.close() };
  },
  async start({ faulty = false, medium = 'memory' } = {}) {
    const source = availableMysql().find(({ programs }) => programs !== null);
    if (source === undefined) throw new Error('This machine has no MySQL or MariaDB.');
    const server = await startMysql(source, {}, medium);
    const proxy = faulty ? await startFaultProxy(server.url()) : undefined;
    return {
      name: 'mysql',
      async createPlace() {
        const url = await server.createDatabase();
        const through = new URL(url);
        if (proxy !== undefined) through.port = new URL(proxy.url).port;
        return {
          address: { backend: 'mysql', url: through.href },
          direct: { backend: 'mysql', url },
          // It goes with its server.
          remove: async () => undefined,
        };
      },
      faults: {
        async crash() {
          await server.kill();
          await server.restart();
        },
        async freeze(random) {
          const thaw = server.freeze();
          // From shorter than a claim to longer than what a store may take.
          await sleep(100 + random() * 1_400);
          thaw();
        },
        ...(proxy !== undefined && {
          cut: async () => proxy.cut(),
          deaf: async (random: () => number) => proxy.goDeaf(random() < 0.5 ? 'both' : undefined),
        }),
      },
      async close() {
        await proxy?.close();
        await server.stop();
      },
    };
  },
};
