/**
 * Deploys: code N and code N + 1 on one database, under load, before, while and after the schema goes from N to N + 1. Code N + 1
 * stands for itself here: it starts only when the next schema is whole, and writes and reads the column that is new.
 */

import { afterEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { migrate } from '../../src/stores/postgres/migrate.ts';
import { MIGRATIONS } from '../../src/stores/postgres/migrations/index.ts';
import { checkOptions } from '../../src/stores/postgres/options.ts';
import { checkDatabase } from '../../src/stores/postgres/schema.ts';
import { createTables } from '../../src/stores/postgres/tables.ts';
import { claimRequest, finishRequest, only } from '../../../testing/src/contract/context.ts';
import { availablePostgres } from '../services/postgres.ts';
import { type TestDatabase, useServer } from './postgres-setup.ts';
import type { Migration } from '../../src/stores/postgres/migrations/migration.ts';

const TABLES = createTables('public', 'clock_timestamp()');
const SCOPE = 'tenant-1/payments';

/** N + 1: a column, and an index on it that is built beside the traffic. Code N still fits. */
const NEXT: Migration = {
  number: MIGRATIONS.length + 1,
  name: 'next',
  minReader: 1,
  statements: ({ records }) => [`ALTER TABLE ${records} ADD COLUMN note text`],
  indexes: ({ records }) => ({ samekey_records_note: `ON ${records} (note)` }),
};
const ALL = [...MIGRATIONS, NEXT];

/** So many that the index takes longer than a flush. */
const OLD_RECORDS = 60_000;

for (const source of availablePostgres()) {
  describe(`code N and N + 1: ${source.name}`, () => {
    const { database } = useServer(source);
    let load: Load | undefined;
    afterEach(() => load?.stop().catch(() => undefined));

    it('claims and finishes of two stores go on while the schema expands; none fails, none is lost, none runs twice', async () => {
      const db = await database();
      load = startLoad([await db.store(), await db.store()]);
      await fill(db);
      await load.more(200);

      const during = await finishedDuring(
        load,
        migrate(checkOptions({ service: 'test', pool: db.pool() }).open, TABLES, {
          service: 'test',
          migrations: ALL,
        }),
      );
      expect(during).toBeGreaterThan(0);

      // Deployed process by process: one store of each kind works on the same keys from here on.
      load.add(await nextStore(db));
      await load.more(400);
      await load.stop();
      await expectAllThere(db, load);
    });

    it('a migration that has to wait for somebody’s long query holds up no request', async () => {
      const db = await database();
      load = startLoad([await db.store(), await db.store()]);
      await load.more(50);
      const reader = await db.session();
      await reader.query('BEGIN');
      await reader.query('SELECT count(*) FROM samekey_records');

      const migrating = migrate(checkOptions({ service: 'test', pool: db.pool() }).open, TABLES, {
        service: 'test',
        migrations: ALL,
      });
      const admin = await db.session();
      // It has waited for the lock and given up, three times.
      await tries(admin, 3);
      await reader.query('COMMIT');
      await migrating;
      await load.more(50);
      await load.stop();
      await expectAllThere(db, load);
      // The store's statements give up after 1,500 ms: what waits behind a migration must not come near.
      expect(load.slowestMs()).toBeLessThan(1_200);
    });
  });
}

interface Load {
  /** Resolves when so many more keys have been finished. */
  more(count: number): Promise<void>;
  add(store: Store): void;
  /** Ends it; rejects with the first failure. */
  stop(): Promise<void>;
  finished(): number;
  slowestMs(): number;
  /** Every key that was answered as finished, with the claim that did it. */
  readonly owners: ReadonlyMap<string, string>;
}

/** Each key is wanted by every store at once; who gets it finishes it, the others must be told so. */
function startLoad(first: readonly Store[]): Load {
  const stores = [...first];
  const owners = new Map<string, string>();
  let slowest = 0;
  const state: { going: boolean; failure?: unknown } = { going: true };
  let wake: (() => void) | undefined;

  async function timed<T>(work: Promise<T>): Promise<T> {
    const from = performance.now();
    const value = await work;
    slowest = Math.max(slowest, performance.now() - from);
    return value;
  }

  async function want(store: Store, key: string): Promise<void> {
    const request = claimRequest({ key });
    const claim = only(await timed(store.claim([request])));
    if (claim.kind === 'found') {
      expect(['in-progress', 'final']).toContain(claim.because);
      return;
    }
    if (claim.kind !== 'claimed') return;
    expect(owners.has(key), `${key} is claimed although it is finished`).toBe(false);
    const owner = { scope: SCOPE, key, claimId: request.claimId, attempt: claim.attempt };
    let end = only(await timed(store.finish([finishRequest(owner, 'completed')])));
    // Another's claim held the row's lock: the dispatcher asks again, and so does this load.
    while (end.kind === 'busy') end = only(await timed(store.finish([finishRequest(owner, 'completed')])));
    expect(end.kind).toBe('applied');
    owners.set(key, request.claimId);
    wake?.();
  }

  const workers = Array.from({ length: 4 }, async (_, worker) => {
    for (let i = 0; state.going; i += 1) {
      await Promise.all(stores.map((store) => want(store, `${worker}-${i}`)));
    }
  });
  const ended = Promise.all(workers).catch((error: unknown) => {
    state.failure = error;
    state.going = false;
    wake?.();
  });

  return {
    owners,
    finished: () => owners.size,
    slowestMs: () => slowest,
    add: (store) => void stores.push(store),
    async more(count) {
      for (const until = owners.size + count; owners.size < until && state.failure === undefined; ) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      if (state.failure !== undefined) throw state.failure;
    },
    async stop() {
      state.going = false;
      await ended;
      if (state.failure !== undefined) throw state.failure;
    },
  };
}

/** How many keys were finished while something ran. */
async function finishedDuring(load: Load, work: Promise<void>): Promise<number> {
  const before = load.finished();
  await work;
  return load.finished() - before;
}

/** Code N + 1: refuses to start on the schema of N, and keeps the new column. */
async function nextStore(db: TestDatabase): Promise<Store> {
  const connection = await checkOptions({ service: 'test', pool: db.pool() }).open();
  const ask = async (statement: { name: string; text: string }, values: readonly unknown[]) =>
    (await connection.query(statement, values as string[], false)).rows;
  await checkDatabase(ask, TABLES, 'test', ALL);
  await connection.close();
  const store = await db.store();
  const pool = db.pool();
  return {
    ...store,
    async finish(requests) {
      const results = await store.finish(requests);
      for (const [i, { key }] of requests.entries()) {
        if (results[i]?.kind !== 'applied') continue;
        await pool.query('UPDATE samekey_records SET note = $1 WHERE scope = $2 AND key = $3', [
          'written by N + 1',
          SCOPE,
          key,
        ]);
      }
      return results;
    },
  };
}

async function fill(db: TestDatabase): Promise<void> {
  const admin = await db.session();
  await admin.query(
    `INSERT INTO samekey_records (scope, key, operation, state, attempt, claim_id, locked_until, claim_ttl_ms, renewals,
       when_claim_ends, format_version, created_at, expires_at, replay_min_ms, attempt_max, tombstone_ms, reap_after)
     SELECT 'tenant-2/payments', 'old-' || n, 'POST /payments', 'completed', 1, 'old-' || n, now(), 1, 0, 'unknown', 1,
       now(), now() + interval '1 day', 1, 10, 0, now() + interval '1 day' FROM generate_series(1, $1::int) AS n`,
    [OLD_RECORDS],
  );
}

/** Waits until the migration has waited for its lock and given up so many times. */
async function tries(admin: Awaited<ReturnType<TestDatabase['session']>>, count: number): Promise<void> {
  let waits = 0;
  for (let wasWaiting = false; waits < count || wasWaiting; ) {
    const { rows } = await admin.query(
      "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'ALTER TABLE%note%'",
    );
    const isWaiting = rows.length > 0;
    if (isWaiting && !wasWaiting) waits += 1;
    wasWaiting = isWaiting;
    await new Promise((resolve) => void setTimeout(resolve, 5));
  }
}

/** What was acknowledged is there, by the claim that was told so, in its first attempt. */
async function expectAllThere(db: TestDatabase, load: Load): Promise<void> {
  const admin = await db.session();
  const { rows } = await admin.query<{ key: string; claim_id: string; state: string; attempt: number }>(
    'SELECT key, claim_id, state, attempt FROM samekey_records WHERE scope = $1',
    [SCOPE],
  );
  expect(new Map(rows.map((row) => [row.key, row.claim_id]))).toEqual(load.owners);
  expect(new Set(rows.map(({ state, attempt }) => `${state} ${attempt}`))).toEqual(new Set(['completed 1']));
}
