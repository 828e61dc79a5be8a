/** The MySQL store holds the contract, on every server this machine can run and with both clients (F14, F15, F16, F35, F45, F46). */

import { afterAll, beforeAll, describe, it } from 'vitest';
import { storeContract } from '../../src/testing/store-contract.ts';
import { availableMysql, type MysqlServer, startMysql } from '../services/mysql.ts';
import { CLIENTS, mysqlHarness } from './mysql-clients.ts';

for (const source of availableMysql()) {
  describe(source.name, () => {
    let server: MysqlServer;
    beforeAll(async () => {
      server = await startMysql(source);
    }, 60_000);
    afterAll(() => server.stop());

    for (const client of CLIENTS)
      storeContract(
        { describe, it },
        mysqlHarness(() => server, client),
      );
  });
}
