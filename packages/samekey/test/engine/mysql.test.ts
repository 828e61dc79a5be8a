/** Whole engines on MySQL or MariaDB, on every server this machine can run and with both clients. */

import { afterAll, beforeAll, describe, it } from 'vitest';
import { engineContract } from '../../src/testing/engine-contract.ts';
import { availableMysql, type MysqlServer, startMysql } from '../services/mysql.ts';
import { CLIENTS, mysqlHarness } from '../stores/mysql-clients.ts';

for (const source of availableMysql()) {
  describe(source.name, () => {
    let server: MysqlServer;
    beforeAll(async () => {
      server = await startMysql(source);
    }, 60_000);
    afterAll(() => server.stop());

    for (const client of CLIENTS)
      engineContract(
        { describe, it },
        mysqlHarness(() => server, client),
      );
  });
}
