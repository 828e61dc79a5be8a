/**
 * Through PgBouncer in transaction mode each statement may meet another session: the store notices it by itself, prepares nothing
 * by name, sets nothing in sessions that others use, and holds the contract.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { claimed, finished } from '../../src/testing/contract/context.ts';
import { storeContract } from '../../src/testing/store-contract.ts';
import { type PgBouncer, pgBouncerProgram, startPgBouncer } from '../services/pgbouncer.ts';
import { anyPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { CLIENTS, postgresHarness } from './postgres-clients.ts';

const source = anyPostgres();
const program = pgBouncerProgram();

describe.runIf(source !== undefined && program !== undefined)('through PgBouncer', () => {
  let server: PostgresServer;
  let bouncer: PgBouncer;
  let url = '';
  beforeAll(async () => {
    if (source === undefined || program === undefined) return;
    server = await startPostgres(source);
    url = await server.createDatabase();
    bouncer = await startPgBouncer(program, url);
  });
  afterAll(async () => {
    await bouncer.stop();
    await server.stop();
  });

  for (const client of CLIENTS) {
    storeContract(
      { describe, it },
      postgresHarness('PostgreSQL behind PgBouncer', () => bouncer.url, client),
    );
  }

  for (const client of CLIENTS) {
    it(`leaves no setting and no statement behind in sessions that others use (${client.name})`, async () => {
      const stores = Array.from({ length: 8 }, () => postgresStore(client.options(bouncer.url)));
      await Promise.all(stores.map((store) => store.migrate()));
      await Promise.all(
        stores.flatMap((store, s) =>
          Array.from({ length: 20 }, async (_, i) => {
            await finished(store, 'completed', { key: `${client.name}-${s}-${i}` });
            await claimed(store, { key: `${client.name}-${s}-${i}-open` });
          }),
        ),
      );
      const users = client.users(bouncer.url);
      await users.end();
      const { Client } = await import('pg');
      const admin = new Client({ connectionString: bouncer.url });
      await admin.connect();
      for (let i = 0; i < 10; i += 1) {
        const { rows } = await admin.query(
          `SELECT current_setting('enable_seqscan') AS plans, current_setting('application_name') AS name,
             (SELECT count(*)::int FROM pg_prepared_statements
                WHERE statement LIKE '%samekey_%') AS prepared`,
        );
        expect(rows[0]).toEqual({
          plans: 'on',
          name: expect.not.stringMatching('samekey') as unknown,
          prepared: 0,
        });
      }
      await admin.end();
      await Promise.all(stores.map((store) => store.close()));
    });
  }
});
