/** What only PostgreSQL has: commits out of order, NOTIFY, sessions that are cut, groups left behind by a dead process. */

import { describe, expect, it } from 'vitest';
import type { PostgresStore } from '../../src/stores/postgres/index.ts';
import { createOutbox } from '../../src/outbox/index.ts';
import { createWorker, type WorkerOptions } from '../../src/worker/index.ts';
import { anyPostgres } from '../services/postgres.ts';
import { useServer } from '../stores/postgres-setup.ts';
import { atEnd, ended, signal } from './bench.ts';

const source = anyPostgres();

function start(store: PostgresStore, options: Partial<WorkerOptions>): void {
  const worker = createWorker({ store, ...options });
  atEnd(() => worker.stop({ drainMs: 0 }));
  worker.start();
}

/** Resolves when the worker looks so seldom that only a hint explains a quick delivery. */
function watchTakes(store: PostgresStore): Promise<void> {
  const slow = signal();
  const take = store.messages.take.bind(store.messages);
  let last = performance.now();
  store.messages.take = async (request) => {
    const now = performance.now();
    if (now - last > 1_500) slow.resolve();
    last = now;
    return take(request);
  };
  return slow.promise;
}

describe.runIf(source !== undefined)('worker on PostgreSQL', () => {
  const { database } = useServer(source as NonNullable<typeof source>);

  // F51
  it('rows that commit out of the order of their numbers are all delivered', async () => {
    const db = await database();
    const store = await db.store();
    const outbox = createOutbox({ store });
    const [early, late] = [await db.session(), await db.session()];
    const got: number[] = [];
    const all = ended(41);
    const first = signal();
    await early.query('BEGIN');
    await outbox.enqueue(early, { topic: 'mail', payload: 0 });
    await late.query('BEGIN');
    for (let i = 1; i <= 40; i += 1) await outbox.enqueue(late, { topic: 'mail', payload: i });
    start(store, {
      concurrency: 4,
      pollMs: 50,
      onEvent: all.onEvent,
      handlers: {
        mail({ payload }) {
          got.push(payload);
          if (got.length === 40) first.resolve();
        },
      },
    });
    await late.query('COMMIT');
    await first.promise;
    await early.query('COMMIT');
    await all.promise;
    expect(got.at(-1)).toBe(0);
    expect(new Set(got).size).toBe(41);
  });

  it('messages of one group follow their commits: the second waits until the first has ended', async () => {
    const db = await database();
    const store = await db.store();
    const outbox = createOutbox({ store });
    const [early, late] = [await db.session(), await db.session()];
    const got: number[] = [];
    const all = ended(2);
    await early.query('BEGIN');
    await outbox.enqueue(early, { topic: 'mail', payload: 1, group: 'g' });
    await late.query('BEGIN');
    let enqueued = false;
    const second = outbox.enqueue(late, { topic: 'mail', payload: 2, group: 'g' }).then(() => {
      enqueued = true;
    });
    const admin = await db.session();
    await expect
      .poll(
        async () =>
          (await admin.query(`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`)).rowCount,
      )
      .toBe(1);
    expect(enqueued).toBe(false);
    await early.query('COMMIT');
    await second;
    await late.query('COMMIT');
    start(store, {
      onEvent: all.onEvent,
      handlers: { mail: ({ payload }) => void got.push(payload) },
    });
    await all.promise;
    expect(got).toEqual([1, 2]);
  });

  it('an idle worker is woken by the commit, also after its listening session was cut', async () => {
    const db = await database();
    const store = await db.store();
    const outbox = createOutbox({ store: await db.store() });
    const slow = watchTakes(store);
    let arrived = signal<number>();
    start(store, { pollMs: 60_000, handlers: { mail: () => arrived.resolve(performance.now()) } });
    await slow;
    const sentAt = performance.now();
    await outbox.enqueueAlone({ topic: 'mail' });
    expect((await arrived.promise) - sentAt).toBeLessThan(1_500);

    const admin = await db.session();
    const listening = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN samekey%'`;
    const [old] = (await admin.query<{ pid: number }>(listening)).rows;
    await admin.query('SELECT pg_terminate_backend($1)', [old?.pid]);
    await expect
      .poll(
        async () => (await admin.query<{ pid: number }>(listening)).rows.some(({ pid }) => pid !== old?.pid),
        {
          timeout: 20_000,
        },
      )
      .toBe(true);
    arrived = signal<number>();
    const againAt = performance.now();
    await outbox.enqueueAlone({ topic: 'mail' });
    expect((await arrived.promise) - againAt).toBeLessThan(1_500);
  });

  it('without NOTIFY a message is found by polling', async () => {
    const db = await database();
    const store = await db.store();
    const arrived = signal();
    start(store, { listen: false, pollMs: 100, handlers: { mail: () => arrived.resolve() } });
    const { rows } = await (
      await db.session()
    ).query(`SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN samekey_m%'
      AND datname = current_database()`);
    expect(rows).toEqual([]);
    await createOutbox({ store }).enqueueAlone({ topic: 'mail' });
    await arrived.promise;
  });

  it('a worker goes on after the server cut all of its sessions', async () => {
    const db = await database();
    const store = await db.store();
    const outbox = createOutbox({ store });
    const [begun, release] = [signal(), signal()];
    const all = ended(2);
    let runs = 0;
    start(store, {
      pollMs: 100,
      onEvent: all.onEvent,
      handlers: {
        async mail({ payload }) {
          if (payload !== 1) return;
          runs += 1;
          begun.resolve();
          await release.promise;
        },
      },
    });
    await outbox.enqueueAlone({ topic: 'mail', payload: 1 });
    await begun.promise;
    const admin = await db.session();
    await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`);
    release.resolve();
    await expect
      .poll(() =>
        outbox.enqueueAlone({ topic: 'mail', payload: 2 }).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    await all.promise;
    expect(runs).toBe(1);
  });

  it('a group that a dead process left parked goes on after tidying', async () => {
    const db = await database();
    const store = await db.store();
    const outbox = createOutbox({ store });
    await outbox.enqueueAlone({ topic: 'mail', payload: 1, group: 'left' });
    // As if its process had died between the end of the one ahead and the word to the next.
    await (await db.session()).query(`UPDATE samekey_messages SET parked = true`);
    const arrived = signal();
    start(store, { sweepMs: 100, pollMs: 50, handlers: { mail: () => arrived.resolve() } });
    await arrived.promise;
  });
});
