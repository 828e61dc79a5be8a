/** Values at the edge, sessions with odd settings, and durability that no setting of the database takes away. */

import { Client } from 'pg';
import postgres from 'postgres';
import { describe, expect, it } from 'vitest';
import { createDispatch } from '../../src/engine/dispatch.ts';
import { systemWorld } from '../../src/system.ts';
import {
  claimed,
  claimRequest,
  describeResult,
  finishRequest,
  only,
  recordOf,
} from '../../../testing/src/contract/context.ts';
import { anyPostgres } from '../services/postgres.ts';
import { useServer } from './postgres-setup.ts';

const DISPATCH = { batchRowsMax: 500, batchBytesMax: 4 << 20, callTimeMaxMs: 2_000 };

const source = anyPostgres();

describe.runIf(source !== undefined)('values and sessions of PostgreSQL', () => {
  if (source === undefined) return;
  const { database } = useServer(source);

  // A poisoned row fails alone: PostgreSQL would answer 22021 for the whole statement.
  it('text that cannot be stored is refused for its own row only, and not for a time', async () => {
    const db = await database();
    const store = await db.store();
    const world = systemWorld();
    const dispatch = createDispatch(store, world, DISPATCH, () => undefined);
    const deadline = world.monotonicNow() + 2_000;
    const operations = ['fine', 'with \0 NUL', 'fine too', 'half \u{d800} pair', 'last'];
    const claims = await Promise.allSettled(
      operations.map((operation, i) => dispatch.claim(claimRequest({ key: `k${i}`, operation }), deadline)),
    );
    expect(claims.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    for (const claim of claims) {
      if (claim.status === 'rejected')
        expect(claim.reason).toMatchObject({ applied: 'no', transient: false });
    }
  });

  it('bytes come back as they were, whatever form of them the database has chosen', async () => {
    const db = await database();
    const admin = await db.session();
    await admin.query(`ALTER DATABASE ${new URL(db.url).pathname.slice(1)} SET bytea_output = 'escape'`);
    const connect = (): ReturnType<typeof postgres> =>
      postgres(db.url, { max: 1, fetch_types: false, onnotice: () => undefined });
    let count = 0;
    const response = { status: 200, headers: [], body: Uint8Array.from({ length: 256 }, (_, i) => i) };
    for (const store of [await db.store(), await db.store({ connect })]) {
      const owner = await claimed(store, { key: `bytes-${count++}` });
      await store.finish([finishRequest(owner, 'completed', { response })]);
      expect((await recordOf(store, owner)).response).toEqual(response);
      expect((await store.list({ key: owner.key }))[0]?.response).toEqual(response);
    }
  });

  it('NUL in a body or a header is kept, in a reason replaced', async () => {
    const db = await database();
    const store = await db.store();
    const owner = await claimed(store);
    const response = { status: 200, headers: [['x', 'a\0b']] as const, body: Uint8Array.of(0, 1, 0) };
    await store.finish([finishRequest(owner, 'completed', { response, reason: 'a\0b' })]);
    const record = await recordOf(store);
    expect(record.response).toEqual(response);
    expect(record.reason).toBe('a\u{fffd}b');
  });

  // F45
  it('time zone, date style and clock of a session do not matter', async () => {
    const db = await database();
    const options = '-c TimeZone=Asia/Kathmandu -c DateStyle=German -c IntervalStyle=sql_standard';
    const odd = await db.store({ connect: () => new Client({ connectionString: db.url, options }) });
    const plain = await db.store();
    const owner = await claimed(odd, { whenClaimEnds: 'resume' });
    const record = await recordOf(plain);
    expect(Math.abs(record.createdAt - Date.now())).toBeLessThan(60_000);
    expect(record.lockedUntil - record.createdAt).toBe(10_000);
    expect(await recordOf(odd)).toEqual(record);
    expect((await plain.claim([claimRequest()])).map(describeResult)).toEqual(['found in-progress']);
    expect(await odd.sweep(10)).toEqual([]);
    expect(only(await odd.finish([finishRequest(owner, 'completed')])).kind).toBe('applied');
    expect(await odd.list({})).toEqual(await plain.list({ createdBefore: record.createdAt + 1 }));
  });

  it('forced durable: whatever the database says, a claim is flushed before it is acknowledged', async () => {
    const db = await database();
    const admin = await db.session();
    const name = new URL(db.url).pathname.slice(1);
    await admin.query(`ALTER DATABASE ${name} SET synchronous_commit = off`);
    const store = await db.store();
    for (const write of [
      () => claimed(store, { key: `k${Math.random()}` }),
      () => store.claim([claimRequest({ key: 'a' }), claimRequest({ key: 'b' })]),
    ]) {
      const from = (await admin.query<{ at: string }>('SELECT pg_current_wal_insert_lsn()::text AS at'))
        .rows[0]?.at;
      await write();
      const { rows } = await admin.query<{ flushed: boolean }>(
        `SELECT pg_current_wal_flush_lsn() > $1::pg_lsn AND
           pg_wal_lsn_diff(pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn()) < 200 AS flushed`,
        [from],
      );
      expect(rows[0]?.flushed).toBe(true);
    }
  });
});
