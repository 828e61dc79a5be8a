/** MySQL holds the outbox contract, on every server this machine can run and with both clients (F46, F51, F52, F53). */

import { afterAll, beforeAll, describe, it } from 'vitest';
import { outboxContract, type OutboxUnderTest } from '../../src/testing/outbox-contract.ts';
import { availableMysql, type MysqlServer, startMysql } from '../services/mysql.ts';
import { CLIENTS, mysqlHarness } from '../stores/mysql-clients.ts';

for (const source of availableMysql()) {
  describe(source.name, () => {
    let server: MysqlServer;
    beforeAll(async () => {
      server = await startMysql(source);
    }, 60_000);
    afterAll(() => server.stop());

    for (const client of CLIENTS) {
      const harness = mysqlHarness(() => server, client);
      outboxContract(
        { describe, it },
        { name: harness.name, create: async () => (await harness.create()) as OutboxUnderTest },
      );
    }
  });
}
