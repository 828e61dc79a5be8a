/** Due records are found without an index on what a finish changes: by a mark, by a watch, and by looking everywhere in turns. */

import { describe, expect, it } from 'vitest';
import type { PostgresStore } from '../../src/stores/postgres/index.ts';
import {
  CLAIM_TTL_MS,
  claimed,
  finished,
  finishRequest,
  only,
  RETENTION_MS,
  recordOf,
  renewRequest,
} from '../../../testing/src/contract/context.ts';
import { anyPostgres } from '../services/postgres.ts';
import { type TestDatabase, useServer } from './postgres-setup.ts';

const HOUR_MS = 3_600_000;
const source = anyPostgres();

describe.runIf(source !== undefined)('upkeep of the PostgreSQL store', () => {
  if (source === undefined) return;
  const { database } = useServer(source);

  interface Bench {
    readonly store: PostgresStore;
    readonly db: TestDatabase;
    readonly advance: (ms: number) => Promise<void>;
    readonly value: (sql: string) => Promise<unknown>;
  }

  async function bench(): Promise<Bench> {
    const db = await database();
    const admin = await db.session();
    let elapsedMs = 0;
    await admin.query(`CREATE TABLE clock (now timestamptz); INSERT INTO clock VALUES ('2030-01-01');
      CREATE FUNCTION test_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT now FROM clock'`);
    return {
      db,
      store: await db.store({
        pool: db.pool(),
        clock: 'test_now()',
        now: () => elapsedMs,
        monotonicNow: () => elapsedMs,
      }),
      async advance(ms) {
        await admin.query("UPDATE clock SET now = now + $1 * interval '1 millisecond'", [ms]);
        elapsedMs += ms;
      },
      value: async (sql) => Object.values((await admin.query(sql)).rows[0] ?? {})[0],
    };
  }

  const MARK = "SELECT value::float8 FROM samekey_meta WHERE name = 'swept_to'";

  it('the mark follows the oldest claim that is open, and stays behind the time when there is none', async () => {
    const { store, advance, value } = await bench();
    for (let i = 0; i < 5; i += 1) {
      await finished(store, 'completed', { key: `done-${i}` });
      await advance(HOUR_MS);
    }
    const open = await claimed(store, { key: 'open' });
    const { createdAt } = await recordOf(store, open);
    await store.sweep(10);
    expect(await value(MARK)).toBe(createdAt - 30_000);
    await advance(CLAIM_TTL_MS - 1);
    await store.sweep(10);
    expect(await value(MARK)).toBe(createdAt - 20_001);
    await advance(HOUR_MS);
    expect((await store.sweep(10)).map(({ key }) => key)).toEqual(['open']);
    expect(await value(MARK)).toBe(createdAt + CLAIM_TTL_MS - 1 + HOUR_MS - 30_000);
  });

  it('a claim holds the mark until its first renewal, and is watched from then on', async () => {
    const { store, advance, value } = await bench();
    const owner = await claimed(store, { claimTtlMs: HOUR_MS });
    const { createdAt } = await recordOf(store);
    await advance(HOUR_MS - 1);
    await store.sweep(10);
    expect(await value(MARK)).toBe(createdAt);
    await store.renew([renewRequest(owner)]);
    await store.sweep(10);
    expect(await value(MARK)).toBe(createdAt + HOUR_MS - 1 - 30_000);
    await advance(CLAIM_TTL_MS);
    expect((await store.sweep(10)).length).toBe(1);
    // Taken back, finished: the watch is taken off by the next sweep.
    await store.renew([renewRequest(owner)]);
    expect(await value('SELECT watched FROM samekey_records')).toBe(true);
    await store.finish([finishRequest(owner, 'completed')]);
    await store.sweep(10);
    expect(await value('SELECT watched FROM samekey_records')).toBe(false);
  });

  it('a record of yesterday that is claimed again is found behind the mark', async () => {
    const { store, advance } = await bench();
    await finished(store, 'retryable', { retentionMs: 100 * HOUR_MS });
    await advance(24 * HOUR_MS);
    await store.sweep(10);
    await claimed(store);
    await advance(CLAIM_TTL_MS);
    expect((await store.sweep(10)).length).toBe(1);
  });

  it('a claim that a mark has passed, because its process believed an earlier time, is found by looking everywhere', async () => {
    const { store, advance, value, db } = await bench();
    // Its machine stood still, and has not noticed.
    const behind = await db.store({
      pool: db.pool(),
      clock: 'test_now()',
      now: () => 0,
      monotonicNow: () => 0,
    });
    await finished(store, 'completed', { key: 'before' });
    await advance(HOUR_MS);
    await store.sweep(10);
    const passed = (await value(MARK)) as number;
    const late = await claimed(behind, { key: 'after' });
    expect((await recordOf(store, late)).createdAt).toBeLessThan(passed);
    await advance(CLAIM_TTL_MS);
    expect((await store.sweep(10)).map(({ key }) => key)).toEqual(['after']);
    expect(await value(MARK)).toBe(passed + CLAIM_TTL_MS);
  });

  it('a record that lives longer than it was claimed for is looked at once more, not for ever', async () => {
    const { store, advance, value } = await bench();
    await finished(store, 'completed', { key: 'long', replayMinMs: 5 * RETENTION_MS });
    await finished(store, 'unknown', { key: 'unknown' });
    await advance(RETENTION_MS);
    expect((await store.reap(10)).count).toBe(0);
    const due = 'SELECT count(*)::int FROM samekey_records WHERE reap_after <= test_now()';
    expect(await value(due)).toBe(0);
    await advance(4 * RETENTION_MS);
    expect((await store.reap(10)).count).toBe(1);
    // An unknown outcome that is settled expires by its own new time.
    const unknown = await recordOf(store, { scope: 'tenant-1/payments', key: 'unknown' });
    const settled = await store.settle([
      { ...unknown, to: 'failed', reason: 'asked', actor: null, response: null },
    ]);
    expect(only(settled).kind).toBe('applied');
    await advance(RETENTION_MS - 1);
    expect((await store.reap(10)).count).toBe(0);
    await advance(1);
    expect((await store.reap(10)).count).toBe(1);
  });

  it('thousands of records are swept and reaped in one call', async () => {
    const { store, advance, db } = await bench();
    const admin = await db.session();
    await finished(store, 'completed', { key: 'template' });
    const columns = await admin.query<{ names: string }>(
      `SELECT string_agg(column_name, ', ') AS names FROM information_schema.columns
       WHERE table_name = 'samekey_records' AND column_name NOT IN ('key', 'state')`,
    );
    const names = columns.rows[0]?.names ?? '';
    // All in one millisecond, more than a stretch.
    await admin.query(`INSERT INTO samekey_records (key, state, ${names})
      SELECT 'k' || n, CASE WHEN n % 10 = 0 THEN 'in_progress' ELSE 'completed' END, ${names}
      FROM samekey_records, generate_series(1, 25000) AS n`);
    await advance(CLAIM_TTL_MS);
    expect((await store.sweep(2_000)).length).toBe(2_000);
    expect((await store.sweep(2_000)).length).toBe(500);
    expect(await store.sweep(2_000)).toEqual([]);
    await advance(RETENTION_MS);
    expect((await store.reap(1_000_000)).count).toBe(22_501);
    expect((await store.count()).unknown).toBe(2_500);
  });
});
