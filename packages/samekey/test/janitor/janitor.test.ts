/** The janitor: one, several at once, several whose clocks are apart, and what it leaves alone. F45, F47, F48. */

import { describe, expect, it } from 'vitest';
import {
  CLAIM_TTL_MS,
  claimed,
  finished,
  RETENTION_MS,
  recordOf,
} from '../../../testing/src/contract/context.ts';
import {
  createJanitor,
  type Janitor,
  type JanitorEvent,
  type JanitorOptions,
} from '../../src/janitor/index.ts';
import { createReaper } from '../../src/janitor/reaper.ts';
import type { Store } from '../../src/store/store.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { anyPostgres } from '../services/postgres.ts';
import { useServer } from '../stores/postgres-setup.ts';
import { availableClients, temporaryFile } from '../stores/sqlite-clients.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A janitor, and what it told. */
function watched(store: Store, options: object = {}): Janitor & { readonly events: JanitorEvent[] } {
  const events: JanitorEvent[] = [];
  const janitor = createJanitor({ store, ...options, onEvent: (event) => void events.push(event) });
  return { ...janitor, events };
}

function sweptKeys(janitors: readonly { readonly events: JanitorEvent[] }[]): string[] {
  return janitors
    .flatMap(({ events }) => events)
    .flatMap((event) => (event.type === 'swept-record' ? [event.id.key] : []))
    .toSorted((a, b) => a.localeCompare(b));
}

function reapedCount(janitors: readonly { readonly events: JanitorEvent[] }[]): number {
  return janitors
    .flatMap(({ events }) => events)
    .reduce((sum, event) => sum + (event.type === 'reaped' ? event.count : 0), 0);
}

/** A store whose clock the test moves. */
function bench(): { readonly store: Store; readonly advance: (ms: number) => void } {
  let now = Date.UTC(2030, 0);
  return { store: memoryStore({ now: () => now }), advance: (ms) => void (now += ms) };
}

describe('a janitor', () => {
  it('run once, does everything there is to do, tells of each record, and says what it did', async () => {
    const { store, advance } = bench();
    for (let i = 0; i < 7; i += 1) await finished(store, 'completed', { key: `old-${i}` });
    await store.forget([
      { ...(await finished(store, 'failed')), state: 'failed', reason: 'a mistake', actor: null },
    ]);
    await finished(store, 'unknown', { key: 'never-known' });
    advance(30 * DAY_MS - 1);
    await claimed(store, { key: 'over' });
    advance(CLAIM_TTL_MS + 5);
    const janitor = watched(store, { batchSizeMax: 3, auditRetentionMs: DAY_MS });
    // The eighth is what was left of the forgotten key.
    const report = { swept: 2, reaped: 8, auditPruned: 1, failed: [], isBrokenOff: false };
    expect(await janitor.run()).toEqual(report);
    const swept = janitor.events.filter(({ type }) => type === 'swept-record');
    expect(swept).toMatchObject([
      { id: { key: 'never-known' }, from: 'unknown', to: 'failed', reason: 'outcome-never-known' },
      { id: { key: 'over' }, attempt: 1, from: 'in_progress', to: 'unknown', ageMs: 5 },
    ]);
    const runs = janitor.events.flatMap((event) => (event.type === 'janitor-run' ? [event] : []));
    expect(runs.map(({ verb, count }) => `${verb} ${count}`)).toEqual(['sweep 2', 'reap 8', 'audit 1']);
    expect(await janitor.run()).toMatchObject({ swept: 0, reaped: 0, auditPruned: 0 });
    // F47: what is open stays, whatever its age.
    expect((await recordOf(store, { scope: 'tenant-1/payments', key: 'over' })).state).toBe('unknown');
  });

  it.each<[string, Partial<JanitorOptions>, readonly string[]]>([
    ['acts', { auditRetentionMs: DAY_MS }, ['transition']],
    ['transitions', { transitionRetentionMs: DAY_MS }, ['settle']],
  ])('deletes old %s by their own retention, and nothing else', async (_what, options, left) => {
    let now = Date.UTC(2030, 0);
    const store = memoryStore({ now: () => now, auditTransitions: true });
    const owner = await finished(store, 'unknown');
    const by = { to: 'completed', response: null, reason: 'seen at the bank', actor: 'ada' } as const;
    await store.settle([{ ...owner, ...by }]);
    now += DAY_MS + 1;
    await watched(store, options).run();
    const acts = new Set((await store.audit({})).map(({ act }) => act));
    expect([...acts]).toEqual(left);
  });

  // F150
  it('tells of rows that are deleted, also when a later batch fails', async () => {
    const { store, advance } = bench();
    for (let i = 0; i < 3; i += 1)
      await store.forget([
        {
          ...(await finished(store, 'failed', { key: `k-${i}` })),
          state: 'failed',
          reason: 'x',
          actor: null,
        },
      ]);
    advance(DAY_MS + 1);
    let batches = 0;
    const failing: Store = {
      ...store,
      pruneAudit(request) {
        batches += 1;
        return batches === 1 ? store.pruneAudit(request) : Promise.reject(new Error('away'));
      },
    };
    const janitor = watched(failing, { batchSizeMax: 2, auditRetentionMs: DAY_MS });
    expect(await janitor.run()).toMatchObject({ failed: ['audit'] });
    expect(janitor.events).toContainEqual({ type: 'audit-pruned', count: 2 });
  });

  it('goes on with the rest when the store fails at one thing, and says at which', async () => {
    const { store, advance } = bench();
    await finished(store, 'completed');
    advance(RETENTION_MS);
    const failing = { ...store, sweep: () => Promise.reject(new Error('away')) };
    const janitor = watched(failing);
    expect(await janitor.run()).toMatchObject({ failed: ['sweep'], reaped: 1 });
    expect(janitor.events).toContainEqual({ type: 'store-error', verb: 'sweep', error: new Error('away') });
  });

  it('stops when what is under way has ended, and begins nothing more', async () => {
    const { store } = bench();
    let isReaping = false;
    const [begun, begin] = signal();
    const [released, release] = signal();
    const slow: Store = {
      ...store,
      async reap(limit) {
        isReaping = true;
        begin();
        await released;
        isReaping = false;
        return store.reap(limit);
      },
    };
    const janitor = watched(slow, { sweepMs: 1, reapMs: 1 });
    janitor.start();
    await begun;
    const stopped = janitor.stop().then(() => isReaping);
    release();
    expect(await stopped).toBe(false);
    expect(() => janitor.start()).toThrow(/started or stopped before/);
  });

  it('refuses options that nothing reads, and two stores or none', () => {
    const { store } = bench();
    expect(() => createJanitor({ store, sweepSeconds: 1 } as object)).toThrow(/no option "sweepSeconds"/);
    expect(() => createJanitor({})).toThrow(/exactly one/);
    expect(() => createJanitor({ store, batchSizeMax: 0 })).toThrow(/batchSizeMax/);
  });
});

// F47
it('the reaper takes a quarter of the time at most, and much less of a database that is slow', async () => {
  let now = 0;
  let batchMs = 10;
  const sizes: number[] = [];
  const pauses: number[] = [];
  const reap = createReaper({
    store: {
      async reap(limit) {
        now += batchMs;
        sizes.push(limit);
        if (sizes.length === 3) batchMs = 100;
        if (sizes.length === 6) batchMs = 10;
        return { count: sizes.length === 12 ? 0 : limit, byScope: new Map() };
      },
    },
    batchSizeMax: 400,
    emit: () => undefined,
    now: () => now,
    async pause(ms) {
      pauses.push(ms);
    },
  });
  await reap(() => false);
  expect(pauses.slice(0, 3)).toEqual([30, 30, 30]);
  expect(pauses.slice(3, 6)).toEqual([300, 600, 1_200]);
  expect(sizes.slice(3, 7)).toEqual([400, 200, 100, 50]);
  expect(pauses.slice(6)).toEqual([600, 300, 150, 75, 37.5]);
  expect(sizes.at(-1)).toBe(400);
});

const source = anyPostgres();
describe.runIf(source !== undefined)('janitors on PostgreSQL', () => {
  if (source === undefined) return;
  const { database } = useServer(source);

  it('handle nothing twice and nothing early, however many run at once', async () => {
    const db = await database();
    const stores = [await db.store(), await db.store(), await db.store()];
    const store = stores[0] as Store;
    for (let i = 0; i < 120; i += 1) {
      await claimed(store, { key: `over-${i}`, claimTtlMs: 1 });
      await finished(store, 'completed', { key: `old-${i}`, retentionMs: 1, replayMinMs: 0 });
    }
    await finished(store, 'completed', { key: 'young' });
    const living = await claimed(store, { key: 'living', claimTtlMs: HOUR_MS });
    const janitors = stores.map((one) => watched(one, { batchSizeMax: 7, sweepMs: 5, reapMs: 5 }));
    await Promise.all(janitors.map((janitor) => janitor.run()));
    for (const janitor of janitors) janitor.start();
    const all = Array.from({ length: 120 }, (_, i) => `over-${i}`).toSorted((a, b) => a.localeCompare(b));
    await expect.poll(() => sweptKeys(janitors).length, { timeout: 20_000 }).toBe(120);
    await expect.poll(() => reapedCount(janitors), { timeout: 20_000 }).toBe(120);
    await Promise.all(janitors.map((janitor) => janitor.stop()));
    expect(sweptKeys(janitors)).toEqual(all);
    expect((await recordOf(store, living)).state).toBe('in_progress');
    expect(await store.count()).toMatchObject({ completed: 1, unknown: 120, in_progress: 1 });
  }, 60_000);

  // A business row outlives the key it was written under: its reference is cleared, or stays as plain text.
  it('rows of the business that name a record survive it', async () => {
    const db = await database();
    const store = await db.store();
    const admin = await db.session();
    await admin.query(`CREATE TABLE payments (id int PRIMARY KEY, scope text COLLATE "C", key text COLLATE "C",
      FOREIGN KEY (scope, key) REFERENCES samekey_records (scope, key) ON DELETE SET NULL);
      CREATE TABLE orders (id int PRIMARY KEY, scope text, key text)`);
    await finished(store, 'completed', { scope: 's', key: 'k', retentionMs: 1, replayMinMs: 0 });
    await admin.query("INSERT INTO payments VALUES (1, 's', 'k'); INSERT INTO orders VALUES (1, 's', 'k')");
    const janitor = watched(store);
    await expect.poll(async () => (await janitor.run()).reaped).toBe(1);
    expect((await admin.query('SELECT * FROM payments')).rows).toEqual([{ id: 1, scope: null, key: null }]);
    expect((await admin.query('SELECT * FROM orders')).rows).toEqual([{ id: 1, scope: 's', key: 'k' }]);
  });
});

for (const { name, open } of availableClients()) {
  // F45, F48
  it(`janitors on one SQLite file whose clocks are an hour apart end no claim early and nothing twice (${name})`, async () => {
    const file = temporaryFile();
    const databases = [open(file.path), open(file.path)];
    let monotonic = 0;
    let wall = Date.UTC(2030, 0);
    const stores = databases.map((database, i) =>
      sqliteStore({
        service: 'test',
        database,
        now: () => wall + i * HOUR_MS,
        monotonicNow: () => monotonic,
      }),
    );
    try {
      const store = stores[0] as Store;
      await stores[0]?.migrate();
      const janitors = stores.map((one) => watched(one));
      const both = (): Promise<unknown> => Promise.all(janitors.map((janitor) => janitor.run()));
      const advance = (ms: number): void => {
        monotonic += ms;
        wall += ms;
      };
      for (let i = 0; i < 20; i += 1) await claimed(store, { key: `k${i}`, retentionMs: DAY_MS });
      await finished(store, 'completed', { key: 'final', retentionMs: DAY_MS });
      await both();
      advance(CLAIM_TTL_MS - 1);
      await both();
      expect(sweptKeys(janitors)).toEqual([]);
      advance(1);
      await both();
      expect(new Set(sweptKeys(janitors)).size).toBe(20);
      expect(sweptKeys(janitors)).toHaveLength(20);
      // By the file's time, which is that of the clock ahead: never more than the hour early.
      advance(DAY_MS - HOUR_MS - CLAIM_TTL_MS - 1);
      await both();
      expect(reapedCount(janitors)).toBe(0);
      advance(HOUR_MS + CLAIM_TTL_MS);
      await both();
      await both();
      expect(reapedCount(janitors)).toBe(1);
    } finally {
      for (const database of databases) database.close();
      file.remove();
    }
  });
}

function signal(): [promise: Promise<void>, resolve: () => void] {
  const ends: (() => void)[] = [];
  const promise = new Promise<void>((resolve) => void ends.push(resolve));
  return [promise, () => ends[0]?.()];
}
