/** MySQL holds the outbox contract, on every server this machine can run and with both clients (F46, F51, F52, F53). */

import { afterAll, beforeAll, describe } from 'vitest';
import { outboxContract, type OutboxUnderTest } from '../../../testing/src/outbox-contract.ts';
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

    for (const client of CLIENTS) {
      const harness = mysqlHarness(() => server, client);
      outboxContract(
        partOf(`${source.name}, ${client.name}`, source === SOURCES[0] && client === CLIENTS[0]),
        { name: harness.name, create: async () => (await harness.create()) as OutboxUnderTest },
      );
    }
  });
}
