/** A database with a publication for all tables: logical replication, change data capture, blue/green deployments (F75). */

import { createSamekey } from 'samekey';
import { describe, expect, it } from 'vitest';
import { claimed, finished, forgetAsSeen, handRequest } from '../../../testing/src/contract/context.ts';
import { message, take } from '../../../testing/src/outbox/bench.ts';
import type { StoreWithMessages } from '../../src/store/message.ts';
import { distributedPostgresStore } from '../../src/stores/postgres/distributed/index.ts';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { availablePostgres } from '../services/postgres.ts';
import { useServer } from './postgres-setup.ts';

const LAYOUTS = ['one table', 'partitions', 'distributed'] as const;

for (const source of availablePostgres()) {
  describe(`publications: ${source.name}`, () => {
    const { database } = useServer(source, { wal_level: 'logical' });

    async function made(layout: (typeof LAYOUTS)[number]) {
      const db = await database();
      const admin = await db.session();
      const store =
        layout === 'distributed'
          ? distributedPostgresStore({ service: 'test', pool: db.pool(), engine: 'other' })
          : postgresStore({ service: 'test', pool: db.pool(), partitions: layout === 'partitions' ? 4 : 0 });
      await store.migrate();
      return { store, admin, db };
    }

    // F75
    it.each(LAYOUTS)('every table has a primary key, that of records is (scope, key): %s', async (layout) => {
      const { store, admin } = await made(layout);
      const { rows } = await admin.query<{ name: string; key: string | null }>(
        `SELECT c.relname AS name, (SELECT string_agg(a.attname, ' ' ORDER BY k.n) FROM pg_index i,
           unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, n) JOIN pg_attribute a ON a.attnum = k.attnum
           WHERE i.indrelid = c.oid AND a.attrelid = c.oid AND i.indisprimary) AS key
         FROM pg_class c WHERE c.relkind IN ('r', 'p') AND c.relname LIKE 'samekey%'`,
      );
      expect(rows.length).toBeGreaterThanOrEqual(4);
      expect(rows.filter(({ key }) => key === null)).toEqual([]);
      const records = rows.filter(({ name }) => name.includes('records'));
      expect(new Set(records.map(({ key }) => key))).toEqual(new Set(['scope key']));
      await store.close();
    });

    // F75
    it.each(LAYOUTS)('records are claimed, renewed, finished, reopened and deleted: %s', async (layout) => {
      const { store, admin } = await made(layout);
      await admin.query('CREATE PUBLICATION everything FOR ALL TABLES');
      await store.ready();
      const samekey = createSamekey({ store, policy: 'payments' });
      let runs = 0;
      const pay = () =>
        samekey.run({ scope: ['t'], operation: 'pay', key: 'k1', fingerprint: 'x' }, async () => {
          runs += 1;
          return { paid: true };
        });
      expect((await pay()).kind).toBe('executed');
      expect((await pay()).kind).toBe('replay');
      expect(runs).toBe(1);
      const owner = await claimed(store, { key: 'renewed' });
      expect((await store.renew([{ ...owner, claimTtlMs: 10_000 }]))[0]?.kind).toBe('renewed');
      const failed = await finished(store, 'failed', { key: 'failed' });
      expect((await store.reopen([{ ...handRequest(failed), effect: 'none' }]))[0]?.kind).toBe('applied');
      const done = await finished(store, 'completed', { key: 'forgotten' });
      expect((await forgetAsSeen(store, done))[0]?.kind).toBe('applied');
      if (store.counters !== undefined) {
        await store.counters.recount('tenant-1');
        await store.counters.add(new Map([['tenant-1', 1]]));
      }
      const { messages } = store as Partial<StoreWithMessages>;
      if (messages !== undefined) {
        await messages.enqueue([message()]);
        const ended = (await take(messages)).map((each) => ({ ...each, record: null }));
        expect(await messages.done(ended)).toEqual(['applied']);
      }
      expect(await samekey.close({ drainMs: 500 })).toBe(0);
      await store.close();
    });

    // F75. A primary key that is gone is refused without any publication (drift.test.ts).
    it.each<[string, (typeof LAYOUTS)[number], string, string, RegExp]>([
      [
        'an identity that was switched off',
        'one table',
        'ALTER TABLE samekey_messages REPLICA IDENTITY NOTHING',
        'FOR TABLE samekey_messages',
        /samekey_messages is in the publication p .*REPLICA IDENTITY DEFAULT/,
      ],
      [
        'that of one partition, published as a whole',
        'partitions',
        'ALTER TABLE samekey_records_2 REPLICA IDENTITY NOTHING',
        'FOR TABLE samekey_records WITH (publish_via_partition_root)',
        /samekey_records_2 is in the publication p .*samekey_records_2 REPLICA IDENTITY DEFAULT/,
      ],
      [
        'that of one partition, published by itself',
        'partitions',
        'ALTER TABLE samekey_records_2 REPLICA IDENTITY NOTHING',
        'FOR TABLE samekey_records_2',
        /samekey_records_2 is in the publication p /,
      ],
      [
        'that of a distributed layout',
        'distributed',
        'ALTER TABLE samekey_plain_audit REPLICA IDENTITY NOTHING',
        'FOR ALL TABLES',
        /samekey_plain_audit is in the publication p /,
      ],
    ])('ready() finds %s and says the mend', async (_what, layout, sql, publication, what) => {
      const { store, admin } = await made(layout);
      await admin.query(sql);
      await store.ready();
      await admin.query(`CREATE PUBLICATION p ${publication}`);
      await expect(store.ready()).rejects.toMatchObject({
        code: 'ERR_SAMEKEY_SCHEMA',
        message: expect.stringMatching(what) as unknown,
      });
      await store.close();
    });

    it('what is inserted only needs no identity, and another’s table is none of ours', async () => {
      const { store, admin } = await made('one table');
      await admin.query(
        `CREATE TABLE samekey_orders (id int); ALTER TABLE samekey_audit REPLICA IDENTITY NOTHING;
         CREATE PUBLICATION inserts FOR TABLE samekey_audit WITH (publish = 'insert');
         CREATE PUBLICATION others FOR TABLE samekey_orders`,
      );
      await store.ready();
      await store.close();
    });
  });
}
