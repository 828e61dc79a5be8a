/**
 * Messages whose row, or whose record's row, somebody else writes between a statement's snapshot and its lock: the statement must not
 * lock the new version and then write the old one, which is nowhere any more.
 */

import { describe, expect, it } from 'vitest';
import type { StoreWithMessages } from '../../src/store/message.ts';
import type { PostgresStore } from '../../src/stores/postgres/index.ts';
import { settleStatement } from '../../src/stores/postgres/messages/messages-statements.ts';
import { createTables } from '../../src/stores/postgres/tables.ts';
import { endOf, given, handedOver, message, take, takeOne } from '../../../testing/src/outbox/bench.ts';
import { availablePostgres } from '../services/postgres.ts';
import { type TestDatabase, useServer } from './postgres-setup.ts';

/** Resolves when a session of the database waits for a lock. */
async function untilSomebodyWaits(db: TestDatabase): Promise<void> {
  const watcher = await db.session();
  await expect
    .poll(async () => {
      const { rows } = await watcher.query<{ n: number }>(
        `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return rows[0]?.n;
    })
    .toBeGreaterThan(0);
}

for (const source of availablePostgres()) {
  describe(`messages beside other writers: ${source.name}`, () => {
    const { database } = useServer(source);

    async function open() {
      const db = await database();
      const store = (await db.store()) as PostgresStore & StoreWithMessages;
      const bench = {
        store,
        advance: () => undefined,
        close: async () => undefined,
        async transaction<T>(body: (within: never) => Promise<T>): Promise<T> {
          const user = await db.session();
          await user.query('BEGIN');
          const result = await body(store.within(user) as never);
          await user.query('COMMIT');
          return result;
        },
      };
      return { db, store, bench, messages: store.messages };
    }

    // What the sweeper (`watched`) and the reaper (`reap_after`) write in records that they leave as they are.
    it.each(['done', 'dead'] as const)(
      'a record that upkeep writes at the moment at which its message ends (%s) ends with it',
      async (fate) => {
        const { db, store, bench, messages } = await open();
        const owner = await handedOver(bench, 'k');
        const lease = await takeOne(messages);
        const other = await db.session();
        await other.query('BEGIN');
        await other.query("UPDATE samekey_records SET reap_after = reap_after + interval '1 hour'");
        const end = endOf(owner, fate === 'done' ? 'completed' : 'failed');
        const ending =
          fate === 'done' ? messages.done([{ ...lease, record: end }]) : messages.dead([given(lease, end)]);
        await untilSomebodyWaits(db);
        await other.query('COMMIT');
        expect(await ending).toEqual(['applied']);
        const [record] = await store.find([owner]);
        expect(record?.state).toBe(fate === 'done' ? 'completed' : 'failed');
      },
    );

    it('the end of a message with its record goes by both ids, also planned for an empty table', async () => {
      const db = await database();
      await (await db.store()).close();
      const session = await db.session();
      await session.query('VACUUM (ANALYZE) samekey_records');
      await session.query('SET enable_seqscan = off');
      const { text } = settleStatement(createTables('public', 'clock_timestamp()'));
      const { rows } = await session.query<{ 'QUERY PLAN': string }>(
        `EXPLAIN (COSTS OFF) ${text.replaceAll(/\$\d+/g, 'NULL')}`,
      );
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).not.toMatch(/Seq Scan|Hash|Merge/);
      expect(plan).toMatch(/Index Cond: \(\(scope = \$?.*\) AND \(key = /);
    });

    it('a message that is parked at the moment at which the one ahead ends is unparked all the same', async () => {
      const { db, messages } = await open();
      const [first, second] = [message({ group: 'g' }), message({ group: 'g' })];
      await messages.enqueue([first, second]);
      const lease = await takeOne(messages, { limit: 1 });
      const other = await db.session();
      await other.query('BEGIN');
      // A take that looked before the first one ended, and has not committed yet.
      await other.query('UPDATE samekey_messages SET parked = true WHERE id = $1', [second.id]);
      const ending = messages.done([{ ...lease, record: null }]);
      await untilSomebodyWaits(db);
      await other.query('COMMIT');
      expect(await ending).toEqual(['applied']);
      expect((await take(messages)).map(({ id }) => id)).toEqual([second.id]);
    });
  });
}
