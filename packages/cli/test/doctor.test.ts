/** `samekey doctor` as a process: a healthy database, and databases with faults planted in them. */

import { join } from 'node:path';
import Database from 'libsql';
import type { SamekeyRecord, Store } from 'samekey';
import { sqliteStore } from 'samekey/stores/sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anyPostgres, type PostgresServer, startPostgres } from '../../samekey/test/services/postgres.ts';
import { findAddress, type SqlAddress } from '../src/database/address.ts';
import { openDatabase } from '../src/database/open-database.ts';
import { bitsOf } from '../src/doctor/sent-keys.ts';
import { percentile } from '../src/doctor/numbers.ts';
import { sqliteFindings } from '../src/doctor/sqlite.ts';
import { said } from './migrating.ts';
import { freshFolder } from './running-demo.ts';
import { kinds, type Opened, open, request } from './operating.ts';

interface Finding {
  readonly check: string;
  readonly level: string;
  readonly what: string;
  readonly measured: Readonly<Record<string, unknown>>;
  readonly remedy: string | null;
}

async function examined(database: string, ...args: readonly string[]) {
  const { code, stdout, stderr } = await said(['doctor', '--json', '--database', database, ...args]);
  expect(stderr).toBe('');
  const { findings, verdict } = JSON.parse(stdout) as { findings: Finding[]; verdict: string };
  const of = (check: string): readonly Finding[] => findings.filter((each) => each.check === check);
  return { code, verdict, findings, of, stdout };
}

/** Time as the kind of database writes it, so many milliseconds before now. */
function ago(database: string, ms: number): string {
  return database.startsWith('postgres')
    ? `clock_timestamp() - interval '${ms} milliseconds'`
    : `${Date.now() - ms}`;
}

/** Twenty-five keys that end well, each after 10 s as its record says. */
async function traffic(app: Opened, database: string, key: (i: number) => string): Promise<void> {
  for (let i = 0; i < 25; i += 1) await request(app, key(i), 201);
  const plus = database.startsWith('postgres') ? `interval '10 seconds'` : '10000';
  await app.execute(`UPDATE samekey_records SET finished_at = created_at + ${plus}`);
}

/** A claim whose owner will never be heard of. */
async function claimOf(store: Store, key: string, entry: 'run' | 'accept'): Promise<void> {
  await store.claim([
    {
      scope: 'acme|work',
      key,
      operation: 'work',
      claimId: `claim-${key}`,
      claimTtlMs: 1_000,
      fingerprint: { label: 'v1', digest: 'd' },
      whenClaimEnds: 'unknown',
      retentionMs: 3_600_000,
      replayMinMs: 0,
      tombstoneMs: 0,
      attemptMax: 10,
      formatVersion: 1,
      readVersion: 1,
      entry,
      input: entry === 'accept' ? new TextEncoder().encode('{}') : null,
      pendingTimeMaxMs: 86_400_000,
    },
  ]);
}

for (const kind of kinds()) {
  describe(`samekey doctor: ${kind.name}`, () => {
    beforeAll(() => kind.start());
    afterAll(() => kind.stop());

    it('finds nothing where nothing is wrong, and changes nothing', async () => {
      const database = await kind.fresh();
      const app = await open(database);
      await traffic(app, database, () => crypto.randomUUID());
      const before = await app.samekey.store.list({});
      const { code, verdict, findings } = await examined(database, '--retry-window', '23h');
      expect(findings.filter(({ level }) => level === 'warning' || level === 'failure')).toEqual([]);
      expect({ code, verdict }).toEqual({ code: 0, verdict: 'fine' });
      expect(await app.samekey.store.list({})).toEqual(before);
      const { stdout } = await said(['doctor', '--database', database]);
      expect(stdout).toMatch(/^ok +schema/m);
      expect(stdout).toContain('0 failures, 0 warnings.');
      await app.close();
    });

    it('ends with 1 where the tables are missing, and names the command that makes them', async () => {
      const database = await kind.fresh();
      const app = await open(database);
      await app.execute('DROP TABLE samekey_records; DROP TABLE samekey_meta; DROP TABLE samekey_messages');
      const { code, of } = await examined(database);
      expect(code).toBe(1);
      expect(of('schema')).toMatchObject([{ level: 'failure', remedy: 'npx samekey migrate' }]);
      await app.close();
    });

    it('proposes two to three times the measured 99th percentile as claimTtlMs', async () => {
      const database = await kind.fresh();
      const app = await open(database);
      await traffic(app, database, () => crypto.randomUUID());
      await app.execute('UPDATE samekey_records SET claim_ttl_ms = 12000');
      const { code, of } = await examined(database);
      expect(code).toBe(2);
      const [finding] = of('claim-ttl');
      expect(finding).toMatchObject({
        level: 'warning',
        measured: { operation: 'POST /payments', samples: 25, p99Ms: 10_000, claimTtlMs: 12_000 },
      });
      expect(finding?.remedy).toContain('between 20000 and 30000');
      await app.close();
    });

    it('warns of a retention that the windows it is told of outlast', async () => {
      const database = await kind.fresh();
      const app = await open(database);
      await request(app, crypto.randomUUID(), 201);
      const windows = ['--retry-window', '24h', '--recovery-window', '2h', '--audit-window', '1d'];
      const { code, of } = await examined(database, ...windows);
      expect(code).toBe(2);
      expect(of('retention')).toMatchObject([{ level: 'warning', measured: { neededMs: 50 * 3_600_000 } }]);
      expect(Number(of('retention')[0]?.measured['retentionMs']) / 1_000).toBeCloseTo(86_400, -1);
      await app.close();
    });

    it('measures retention and claims over what lives, not over what was erased or forgotten (F94)', async () => {
      const database = await kind.fresh();
      const app = await open(database);
      for (const key of ['erased', 'forgotten', 'living']) await request(app, key, 201, { scope: [key] });
      const { store } = app.samekey;
      const asked = { reason: 'asked', actor: 'test' };
      expect(await store.erase({ scope: 'erased', limit: 10, ...asked })).toEqual({ erased: 1, left: 0 });
      const [forgotten] = await store.list({ caller: 'forgotten' });
      expect(await store.forget([{ ...(forgotten as SamekeyRecord), ...asked }])).toMatchObject([
        { kind: 'applied' },
      ]);
      const { of } = await examined(database, '--retry-window', '23h');
      expect(of('retention')).toMatchObject([{ level: 'ok' }]);
      expect(Number(of('retention')[0]?.measured['retentionMs']) / 1_000).toBeCloseTo(86_400, -1);
      expect(of('claim-ttl')).toMatchObject([{ measured: { records: 1 } }]);
      await app.close();
    });

    it('warns of keys that are counted up, are clocks, or are short, and prints none of them', async () => {
      for (const [sort, key] of [
        ['counted', (i: number) => `order-number-of-ours-${4_000 + i}`],
        ['time', (i: number) => `checkout-${Date.now() + i * 977}`],
        ['short', () => crypto.randomUUID().slice(0, 8)],
      ] as const) {
        const database = await kind.fresh();
        const app = await open(database);
        await traffic(app, database, key);
        const { code, of, stdout } = await examined(database);
        expect(code).toBe(2);
        expect(
          of('keys').map(({ measured }) => measured['kind']),
          sort,
        ).toContain(sort);
        expect(stdout).not.toMatch(/order-number|checkout-/);
        await app.close();
      }
    });

    it('finds outcomes nobody knows, claims nobody ended, work nobody began, and what nobody deletes', async () => {
      const database = await kind.fresh();
      const app = await open(database);
      const { store } = app.samekey;
      await request(app, crypto.randomUUID(), 500);
      await claimOf(store, 'dead-owner', 'run');
      await claimOf(store, 'no-worker', 'accept');
      await request(app, 'expired', 201);
      const hours2 = ago(database, 2 * 3_600_000);
      await app.execute(`UPDATE samekey_records SET locked_until = ${hours2} WHERE state IN ('unknown', 'in_progress');
        UPDATE samekey_records SET created_at = ${hours2} WHERE state = 'pending';
        UPDATE samekey_records SET expires_at = ${hours2} WHERE state = 'completed';
        UPDATE samekey_records SET format_version = 99 WHERE state = 'completed'`);
      if (database.startsWith('postgres'))
        await app.execute(`UPDATE samekey_records SET reap_after = ${hours2} WHERE state = 'completed'`);
      const { code, of } = await examined(database);
      expect(code).toBe(2);
      expect(of('unknown')).toMatchObject([{ level: 'warning', measured: { count: 1 } }]);
      expect(Number(of('unknown')[0]?.measured['oldestMs'])).toBeGreaterThan(7_000_000);
      expect(of('claims')).toMatchObject([{ level: 'warning', measured: { over: 1 } }]);
      expect(of('pending')).toMatchObject([{ level: 'warning', measured: { waiting: 1 } }]);
      expect(of('reaper')).toMatchObject([{ level: 'warning', measured: { due: 1 } }]);
      expect(of('versions')).toMatchObject([{ level: 'warning', measured: { newer: 1 } }]);
      await app.close();
    });
  });
}

const source = anyPostgres();
describe.runIf(source !== undefined)('samekey doctor and what only PostgreSQL has', () => {
  let server: PostgresServer;
  let database: string;
  beforeAll(async () => {
    if (source === undefined) return;
    server = await startPostgres(source, { synchronous_commit: 'off' });
    database = await server.createDatabase();
    await said(['migrate', '--service', 'shop', '--database', database]);
  });
  afterAll(() => server.stop());

  it('warns where transactions of the application may be lost', async () => {
    const { code, of } = await examined(database);
    expect(code).toBe(2);
    expect(of('durability')).toMatchObject([
      { level: 'warning', measured: { fsync: 'on', synchronousCommit: 'off' } },
    ]);
  });

  // F75
  it('fails where a publication has a table whose rows have no identity, and says the mend', async () => {
    const app = await open(database);
    await app.execute(
      'ALTER TABLE samekey_records REPLICA IDENTITY NOTHING; CREATE PUBLICATION p FOR TABLE samekey_records',
    );
    const { code, of } = await examined(database);
    expect(code).toBe(1);
    expect(of('schema')).toMatchObject([{ level: 'failure' }]);
    expect(of('schema')[0]?.what).toMatch(/publication p .*REPLICA IDENTITY DEFAULT/);
    await app.execute('DROP PUBLICATION p; ALTER TABLE samekey_records REPLICA IDENTITY DEFAULT');
    await app.close();
  });

  it('looks into the schema that is named', async () => {
    await said(['migrate', '--service', 'shop', '--schema', 'idem-One', '--database', database]);
    const { of } = await examined(database, '--schema', 'idem-One');
    expect(of('schema')).toMatchObject([{ level: 'ok' }]);
    expect(of('growth').length).toBeGreaterThan(0);
    expect(of('database')).toEqual([]);
  });

  it('fails where the role may not use the messages', async () => {
    const app = await open(database);
    await app.execute(`CREATE ROLE clerk LOGIN; GRANT USAGE ON SCHEMA public TO clerk;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO clerk;
      REVOKE DELETE ON samekey_messages FROM clerk`);
    const url = new URL(database);
    url.username = 'clerk';
    const { code, findings } = await examined(url.href);
    expect(code).toBe(1);
    const failure = findings.find(({ level }) => level === 'failure');
    expect(`${failure?.what} ${failure?.remedy}`).toMatch(/samekey_messages/);
    await app.close();
  });
});

describe('samekey doctor and the time of an SQLite file', () => {
  // F71
  it.each([
    ['ahead', 25, /is 25 h ahead of the newest time in the file: nobody has used .* or this clock is wrong/],
    ['behind', -25, /is 25 h behind the newest time in the file: .*keys were forgotten early/],
    ['right', 0, /do not contradict/],
  ])('tells where this clock is %s', async (how, hours, what) => {
    const folder = freshFolder();
    const path = join(folder.dir, 'keys.db');
    const now = Date.now();
    const file = new Database(path);
    await sqliteStore({ service: 'shop', database: file, now: () => now }).migrate();
    file.close();
    const database = await openDatabase(findAddress(path, {}) as SqlAddress, undefined);
    const findings = await sqliteFindings(database, now + hours * 3_600_000);
    const [clock] = findings.filter(({ check }) => check === 'clock');
    expect(clock).toMatchObject({ level: how === 'right' ? 'ok' : 'warning' });
    expect(clock?.what).toMatch(what);
    await database.close();
    folder.remove();
  });
});

describe('the statistics of the doctor', () => {
  it('take the nearest rank as percentile', () => {
    expect(percentile([3, 1, 2], 0.99)).toBe(3);
    expect(
      percentile(
        Array.from({ length: 200 }, (_, i) => i + 1),
        0.99,
      ),
    ).toBe(198);
    expect(percentile([], 0.99)).toBe(0);
  });

  it('count what a key can hold, not how long it is', () => {
    expect(bitsOf(crypto.randomUUID())).toBeGreaterThan(100);
    expect(bitsOf('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')).toBeLessThan(64);
    expect(bitsOf('1234567890')).toBeLessThan(64);
    expect(bitsOf('V1StGXR8_Z5jdHi6B-myT')).toBeGreaterThan(100);
  });
});
