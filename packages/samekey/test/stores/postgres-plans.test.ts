/**
 * The plan is the one by the unique index: on a table that was just made, on one that was vacuumed while empty (PostgreSQL then
 * believes in zero pages, and would read all of it for ever), and when a million rows have come since.
 */

import { Client, Pool, type PoolClient } from 'pg';
import { describe, expect, it } from 'vitest';
import { listStatement } from '../../src/stores/postgres/upkeep-statements.ts';
import { createTables } from '../../src/stores/postgres/tables.ts';
import { fromPg } from '../../src/tx/pg/index.ts';
import { claimed, claimRequest, finished, finishRequest } from '../../../testing/src/contract/context.ts';
import { availablePostgres } from '../services/postgres.ts';
import { fill, MILLION } from './postgres-fill.ts';
import { useEveryStatement } from './postgres-statements.ts';
import { useServer } from './postgres-setup.ts';

for (const source of availablePostgres()) {
  describe(`plans: ${source.name}`, () => {
    const { database } = useServer(source, { max_wal_size: '4GB', autovacuum: 'off' });

    it('every statement of the hot path goes by the unique index, from the first request on and for ever', async () => {
      const db = await database();
      const admin = await db.session();
      await (await db.store()).close();
      await admin.query('VACUUM (ANALYZE) samekey_records');
      const clients: Client[] = [];
      const store = await db.store({
        connect() {
          const client = new Client({ connectionString: db.url });
          clients.push(client);
          // The one that migrated is gone.
          client.once('end', () => clients.splice(clients.indexOf(client), 1));
          return client;
        },
      });
      await useEveryStatement(store, 'early');
      await checkPlans(clients);

      await fill(admin, MILLION);
      await checkPlans(clients);
      // The same prepared statements, by the same plans.
      await useEveryStatement(store, 'late');
      await admin.query('ANALYZE samekey_records');
      await useEveryStatement(store, 'analyzed');
      await checkPlans(clients);
    }, 300_000);

    it('what a user’s session keeps prepared goes by the unique index: on a table of few pages nothing is kept', async () => {
      const db = await database();
      const admin = await db.session();
      const store = await db.store();
      await admin.query('VACUUM (ANALYZE) samekey_records');
      const pool = new Pool({ connectionString: db.url, max: 1, idleTimeoutMillis: 0 });
      const users = fromPg<PoolClient>(pool);
      // PostgreSQL plans five times before it keeps a plan.
      async function finishSome(prefix: string): Promise<void> {
        for (let i = 0; i < 10; i += 1) {
          const owner = await claimed(store, { key: `${prefix}-${i}` });
          await users.run(async (_tx, handle) => {
            const within = store.within(handle);
            await within.limit(30_000);
            expect(await within.finish(finishRequest(owner, 'completed'))).toMatchObject({ kind: 'applied' });
          });
        }
      }
      const kept = async (): Promise<{ name: string; generic: string; parameters: string }[]> => {
        const { rows } = await pool.query(
          `SELECT name, generic_plans AS generic, concat_ws(', ', VARIADIC array_fill('NULL'::text, ARRAY[cardinality(parameter_types)])) AS parameters
           FROM pg_prepared_statements WHERE name LIKE 'samekey_finish%'`,
        );
        return rows;
      };
      await finishSome('empty');
      expect(await kept()).toEqual([]);

      await fill(admin, 1_000);
      await finishSome('few');
      const [one] = await kept();
      expect(Number(one?.generic)).toBeGreaterThan(0);

      await fill(admin, 100_000);
      for (const turn of ['late', 'later']) {
        const { rows } = await pool.query<{ 'QUERY PLAN': string }>(
          `EXPLAIN (COSTS OFF) EXECUTE ${one?.name}(${one?.parameters})`,
        );
        const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
        expect(plan).toContain('samekey_records_pkey');
        expect(plan).not.toMatch(/Seq Scan|Hash|Merge|Sort|Bitmap/);
        await finishSome(turn);
      }
      await pool.end();
    }, 120_000);

    it('a million settled outcomes cost a look at the unknown ones nothing', async () => {
      const db = await database();
      const admin = await db.session();
      const store = await db.store();
      await fill(admin, MILLION);
      for (let i = 0; i < 20; i += 1) await finished(store, 'unknown', { key: `unknown-${i}` });
      for (const analyzed of [false, true]) {
        if (analyzed) await admin.query('ANALYZE samekey_records');
        const tables = createTables('public', 'clock_timestamp()');
        const { statement, values } = listStatement(tables, { states: ['unknown'] }, 100);
        const explained = await admin.query<{ 'QUERY PLAN': string }>(
          `EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) ${statement.text}`,
          [...values],
        );
        const plan = explained.rows.map((row) => row['QUERY PLAN']).join('\n');
        expect(plan).toContain('samekey_records_unknown');
        expect(plan).not.toMatch(/Seq Scan|Filter: .*reconcile_after/);
        const buffers = /Buffers: shared hit=(\d+)/.exec(plan)?.[1];
        expect(Number(buffers), plan).toBeLessThan(100);
      }
      expect(await store.list({ states: ['unknown'] })).toHaveLength(20);
    }, 120_000);

    it('a finish is a HOT update: it writes no index entry', async () => {
      const db = await database();
      const store = await db.store();
      for (let i = 0; i < 20; i += 1) {
        const requests = Array.from({ length: 64 }, (_, n) => claimRequest({ key: `${i}-${n}` }));
        await store.claim(requests);
        await store.finish(requests.map((request) => finishRequest({ ...request, attempt: 1 }, 'completed')));
      }
      // A session tells of what it did at its end, at the latest.
      await store.close();
      const admin = await db.session();
      await expect
        .poll(
          async () =>
            (
              await admin.query<{ updates: string; hot: string }>(
                `SELECT n_tup_upd AS updates, n_tup_hot_upd AS hot FROM pg_stat_user_tables
                 WHERE relname = 'samekey_records'`,
              )
            ).rows[0],
          { timeout: 10_000 },
        )
        .toEqual({ updates: '1280', hot: '1280' });
    });
  });
}

/** Looks at the plans the sessions keep: what the protocol prepared can be explained by name. */
async function checkPlans(clients: readonly Client[]): Promise<void> {
  let seen = 0;
  for (const client of clients) {
    const { rows } = await client.query<{ name: string; types: string[]; custom: string }>(
      `SELECT name, parameter_types::text[] AS types, custom_plans AS custom FROM pg_prepared_statements
       WHERE name LIKE 'samekey%' AND name NOT IN ('samekey_begin', 'samekey_commit', 'samekey_rollback')`,
    );
    for (const { name, types, custom } of rows) {
      const nulls = types.length === 0 ? '' : `(${types.map(() => 'NULL').join(', ')})`;
      const explained = await client.query<{ 'QUERY PLAN': string }>(
        `EXPLAIN (COSTS OFF) EXECUTE ${name}${nulls}`,
      );
      const plan = explained.rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan, name).not.toMatch(/Seq Scan|Hash|Merge|Sort|Bitmap/);
      expect(custom, `${name} is planned once`).toBe('0');
      const audit = /note_audit|prune_audit/.test(name);
      if (name.includes('prune_audit')) expect(plan, name).toContain('samekey_audit_act');
      const upkeep = audit || /watch|stretch|mark|reap|known/.test(name) || name.includes('count_off');
      if (name.includes('count_off')) expect(plan, name).toMatch(/Index Cond: .*scope = .*shard = 0/);
      if (name.includes('take_unknown')) expect(plan, name).toContain('samekey_records_reconcile');
      if (name.includes('never_known')) expect(plan, name).toContain('samekey_records_unknown');
      expect(plan, name).toMatch(upkeep ? /Index (Only )?Scan|Result/ : /samekey_records_pkey/);
      seen += 1;
    }
  }
  expect(seen).toBeGreaterThan(10);
}
