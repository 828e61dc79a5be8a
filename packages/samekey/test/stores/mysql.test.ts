/** The MySQL store holds the contract, on every server this machine can run and with both clients (F14, F15, F16, F35, F45, F46). */

import { afterAll, beforeAll, describe } from 'vitest';
import { storeContract } from '../../../testing/src/store-contract.ts';
import { availableMysql, type MysqlServer, startMysql } from '../services/mysql.ts';
import { partOf } from './slice.ts';
import { CLIENTS, mysqlHarness } from './mysql-clients.ts';

const SOURCES = availableMysql();

for (const source of SOURCES) {
  describe(source.name, () => {
    let server: MysqlServer;
    beforeAll(async () => {
      server = await startMysql(source);
    }, 60_000);
    afterAll(() => server.stop());

    for (const client of CLIENTS)
      storeContract(
        partOf(`${source.name}, ${client.name}`, source === SOURCES[0] && client === CLIENTS[0]),
        mysqlHarness(() => server, client),
      );
  });
}
