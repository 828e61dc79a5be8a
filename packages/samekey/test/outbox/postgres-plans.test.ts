/**
 * The plans of messages are right from the first message on: on a table that was vacuumed while empty, and when a million have
 * come that no ANALYZE has seen. And a take reads what is due, not what waits.
 */

import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import type { PostgresStore } from '../../src/stores/postgres/index.ts';
import { message, take } from '../../../testing/src/outbox/bench.ts';
import { anyPostgres } from '../services/postgres.ts';
import { useServer } from '../stores/postgres-setup.ts';

const source = anyPostgres();
const MILLION = 1_000_000;

describe.runIf(source !== undefined)('plans of messages', () => {
  const { database } = useServer(source as NonNullable<typeof source>, {
    max_wal_size: '4GB',
    autovacuum: 'off',
  });

  it('every statement goes by an index that fits it, whatever the table holds', async () => {
    const db = await database();
    const admin = await db.session();
    await (await db.store()).close();
    await admin.query('VACUUM (ANALYZE) samekey_messages');
    const clients: Client[] = [];
    const store = await db.store({
      connect() {
        const client = new Client({ connectionString: db.url });
        clients.push(client);
        client.once('end', () => clients.splice(clients.indexOf(client), 1));
        return client;
      },
    });
    await useAll(store);
    await checkPlans(clients);
    // Half of them not due, half behind their groups.
    await admin.query(
      `INSERT INTO samekey_messages (id, topic, group_key, due_at, created_at, payload, parked)
       SELECT 'm' || n, 'mail', CASE WHEN n % 2 = 0 THEN 'g' || n % 1000 END, now() + CASE WHEN n % 2 = 1 THEN interval '1 hour'
         ELSE interval '0' END, now(), '1', n % 2 = 0 FROM generate_series(1, $1::int) n`,
      [MILLION],
    );
    await checkPlans(clients);
    await useAll(store);
    await admin.query('ANALYZE samekey_messages');
    await useAll(store);
    await checkPlans(clients);
  }, 300_000);
});

async function useAll({ messages }: PostgresStore): Promise<void> {
  const many = Array.from({ length: 100 }, (_, i) => message(i % 2 === 0 ? {} : { group: `own-${i}` }));
  await messages.enqueue(many);
  await messages.enqueue([message({ group: 'own' })]);
  const taken = await take(messages, { limit: 90 });
  expect(taken).toHaveLength(90);
  await messages.extend(taken, 10_000);
  await messages.note(taken.map((each) => ({ ...each, providerId: 'p' })));
  const [one, two, ...rest] = taken;
  if (one === undefined || two === undefined) return;
  await messages.done([{ ...one, record: null }]);
  const failed = { error: 'e', proven: false, begun: true, delayMs: 0 };
  await messages.retry([{ ...two, ...failed }]);
  await messages.retry(rest.slice(0, 10).map((each) => ({ ...each, ...failed })));
  await messages.dead(rest.slice(10, 20).map((each) => ({ ...each, ...failed, record: null })));
  await messages.done(rest.slice(20).map((each) => ({ ...each, record: null })));
  await messages.requeue(
    rest.slice(10, 20).map(({ id }) => id),
    { reason: 'mended', actor: 'operator-1' },
  );
  await messages.tidy();
  const last = await take(messages, { limit: 1_000 });
  await messages.done(last.map((each) => ({ ...each, record: null })));
}

async function checkPlans(clients: readonly Client[]): Promise<void> {
  let seen = 0;
  for (const client of clients) {
    const { rows } = await client.query<{ name: string; types: string[] }>(
      `SELECT name, parameter_types::text[] AS types FROM pg_prepared_statements WHERE statement LIKE '%samekey_messages%'`,
    );
    for (const { name, types } of rows) {
      const nulls = types.length === 0 ? '' : `(${types.map(() => 'NULL').join(', ')})`;
      const { rows: lines } = await client.query<{ 'QUERY PLAN': string }>(
        `EXPLAIN (COSTS OFF) EXECUTE ${name}${nulls}`,
      );
      const plan = lines.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan, name).not.toMatch(/Seq Scan|Hash Join|Merge Join|Bitmap/);
      // A lease is looked up by its place: the index of the leased ones would be read once for each row.
      if (/done|extend|note|back/.test(name)) {
        expect(plan, name).toMatch(/samekey_messages_pkey/);
        expect(plan, name).not.toMatch(/samekey_messages_leased/);
      }
      if (name.startsWith('samekey_take_')) expect(plan, name).toMatch(/samekey_messages_ready/);
      seen += 1;
    }
  }
  expect(seen).toBeGreaterThan(8);
}
