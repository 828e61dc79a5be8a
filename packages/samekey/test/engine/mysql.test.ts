/** Whole engines on MySQL or MariaDB, on every server this machine can run and with both clients. */

import { afterAll, beforeAll, describe } from 'vitest';
import { engineContract } from '../../../testing/src/engine-contract.ts';
import { availableMysql, type MysqlServer, startMysql } from '../services/mysql.ts';
import { partOf } from '../stores/slice.ts';
import { CLIENTS, mysqlHarness } from '../stores/mysql-clients.ts';

const SOURCES = availableMysql();

for (const source of SOURCES) {
  describe(source.name, () => {
    let server: MysqlServer;
    beforeAll(async () => {
      server = await startMysql(source);
    }, 60_000);
    afterAll(() => server.stop());

    for (const client of CLIENTS)
      engineContract(
        partOf(`${source.name}, ${client.name}`, source === SOURCES[0] && client === CLIENTS[0]),
        mysqlHarness(() => server, client),
      );
  });
}
