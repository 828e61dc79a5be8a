/** The store on records in hash partitions: the contract, the plans, and a migration that comes later. */

import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../src/stores/postgres/migrate.ts';
import { MIGRATIONS, SCHEMA_VERSION } from '../../src/stores/postgres/migrations/index.ts';
import { postgresMigrations, postgresStore } from '../../src/stores/postgres/index.ts';
import { checkOptions } from '../../src/stores/postgres/options.ts';
import { createTables } from '../../src/stores/postgres/tables.ts';
import { claimed, finishRequest, ID } from '../../../testing/src/contract/context.ts';
import { message } from '../../../testing/src/outbox/bench.ts';
import { storeContract } from '../../../testing/src/store-contract.ts';
import { anyPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { partOf } from './slice.ts';
import { CLIENTS, postgresHarness } from './postgres-clients.ts';
import { useServer } from './postgres-setup.ts';
import { useEveryStatement } from './postgres-statements.ts';
import type { Migration } from '../../src/stores/postgres/migrations/migration.ts';

const TABLES = createTables('public', 'clock_timestamp()');

/** A version to come: one index more, beside the traffic. */
const NEXT: Migration = {
  number: SCHEMA_VERSION + 1,
  name: 'next',
  minReader: 1,
  statements: ({ records }) => [`ALTER TABLE ${records} ADD COLUMN IF NOT EXISTS note text`],
  indexes: ({ records }) => ({ samekey_records_note: `ON ${records} (note)` }),
};

const source = anyPostgres();
const [pg] = CLIENTS;

describe.runIf(source !== undefined)('records in partitions', () => {
  if (source === undefined || pg === undefined) return;

  describe('contract', () => {
    let server: PostgresServer;
    let url = '';
    beforeAll(async () => {
      server = await startPostgres(source);
      url = await server.createDatabase();
    });
    afterAll(() => server.stop());
    storeContract(
      partOf('PostgreSQL in partitions', false),
      postgresHarness('PostgreSQL in 2 partitions', () => url, pg, undefined, 2),
    );
  });

  const { database } = useServer(source, { autovacuum: 'off' });

  it('each statement goes by indexes alone, and one by key looks into one partition', async () => {
    const db = await database();
    const clients: Client[] = [];
    const store = await db.store({
      partitions: 8,
      connect() {
        const client = new Client({ connectionString: db.url });
        clients.push(client);
        client.once('end', () => clients.splice(clients.indexOf(client), 1));
        return client;
      },
    });
    await useEveryStatement(store, 'some');
    let looks = 0;
    for (const client of clients) {
      const { rows } = await client.query<{ name: string; text: string; types: string[] }>(
        `SELECT name, statement AS text, parameter_types::text[] AS types FROM pg_prepared_statements WHERE name LIKE 'samekey%'`,
      );
      for (const { name, text, types } of rows) {
        // A place alone is one of each partition.
        expect(text, name).not.toMatch(/r\.ctid = \w+\.\w+\b(?! AND r\.scope)/);
        const nulls = types.length === 0 ? '' : `(${types.map(() => 'NULL').join(', ')})`;
        const plan = await explained(client, `EXPLAIN (COSTS OFF) EXECUTE ${name}${nulls}`);
        expect(plan, name).not.toMatch(/Seq Scan|Hash Join|Merge Join|Bitmap/);
        if (!name.startsWith('samekey_find_') || types[0] !== 'text') continue;
        const run = await explained(
          client,
          `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE ${name}('${ID.scope}', 'some-one', NULL)`,
        );
        expect(run).toContain('Subplans Removed: 7');
        expect(run.match(/Index Scan using samekey_records_\d_pkey/g), run).toHaveLength(1);
        looks += 1;
      }
    }
    expect(looks).toBeGreaterThan(0);
  });

  it('rows at the same place of two partitions are told apart', async () => {
    const db = await database();
    const store = await db.store({ partitions: 4 });
    const admin = await db.session();
    const owners = [];
    for (let i = 0; i < 16; i += 1) owners.push(await claimed(store, { key: `key-${i}` }));
    const { rows } = await admin.query<{ place: string; keys: string[] }>(
      `SELECT ctid::text AS place, array_agg(key) AS keys FROM samekey_records GROUP BY ctid HAVING count(*) > 1`,
    );
    const [one, ...others] = rows[0]?.keys ?? [];
    expect(others.length).toBeGreaterThan(0);
    const owner = owners.find(({ key }) => key === one);
    expect(owner).toBeDefined();
    if (owner === undefined) return;
    expect((await store.finish([finishRequest(owner, 'completed')]))[0]?.kind).toBe('applied');
    const states = await store.find(owners);
    expect(states.filter((record) => record?.state === 'completed').map((record) => record?.key)).toEqual([
      one,
    ]);
    expect(states.filter((record) => record?.state === 'in_progress')).toHaveLength(15);
  });

  it('a dead letter that is requeued makes its own record pending, and none at the same place of another partition', async () => {
    const db = await database();
    const store = await db.store({ partitions: 4 });
    const admin = await db.session();
    const owners = [];
    for (let i = 0; i < 16; i += 1) owners.push(await claimed(store, { key: `key-${i}` }));
    await store.finish(owners.map((owner) => finishRequest(owner, 'unknown')));
    const { rows } = await admin.query<{ keys: string[] }>(
      'SELECT array_agg(key) AS keys FROM samekey_records GROUP BY ctid HAVING count(*) > 1',
    );
    const key = rows[0]?.keys[0];
    const owner = owners.find((each) => each.key === key) ?? expect.fail('no two are at one place');
    const { scope, claimId, attempt } = owner;
    const letter = message({ owner: { scope, key: owner.key, claimId, attempt } });
    await store.messages.enqueue([letter]);
    await admin.query("UPDATE samekey_messages SET state = 'dead'");
    const by = { reason: 'mended', actor: 'operator-1' };
    expect(await store.messages.requeue([letter.id], by)).toEqual([letter.id]);
    const found = await store.find(owners);
    expect(found.filter((record) => record?.state === 'pending').map((record) => record?.key)).toEqual([key]);
    expect(found.filter((record) => record?.state === 'unknown')).toHaveLength(15);
  });

  it('a later migration gives each partition its index beside the traffic, also after a build that was broken off', async () => {
    const db = await database();
    await db.store({ partitions: 2 });
    const admin = await db.session();
    const { open } = checkOptions({ service: 'test', pool: db.pool() });
    const migrations = [...MIGRATIONS, NEXT];
    // As a build leaves it that was broken off.
    await admin.query('ALTER TABLE samekey_records ADD COLUMN note text');
    await admin.query('CREATE INDEX samekey_records_note_1 ON samekey_records_1 (note)');
    await admin.query(
      "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'samekey_records_note_1'::regclass",
    );
    await migrate(open, TABLES, { service: 'test', migrations });
    const { rows } = await admin.query(
      `SELECT count(*)::int AS n, bool_and(x.indisvalid) AS valid FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
        JOIN pg_class t ON t.oid = x.indrelid
        WHERE t.relname ~ '^samekey_records_[01]$' AND i.relname ~ 'note'`,
    );
    expect(rows).toEqual([{ n: 2, valid: true }]);
  });

  it('a partition that a crash would empty is refused, and the printed SQL makes the same tables', async () => {
    const db = await database();
    const admin = await db.session();
    await admin.query(postgresMigrations({ service: 'test', partitions: 3 }));
    const store = await db.store();
    await claimed(store);
    await admin.query('ALTER TABLE samekey_records_2 SET UNLOGGED');
    await expect(store.ready()).rejects.toThrow('emptied when the server crashes');
    expect(() => postgresStore({ service: 'test', pool: db.pool(), partitions: 257 })).toThrow('partitions');
  });
});

async function explained(client: Client, sql: string): Promise<string> {
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(sql);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}
