/** Nothing waits for a lock of somebody else's: the row answers `busy`, its neighbours go through. */

import { describe, expect, it } from 'vitest';
import {
  ANSWER,
  claimed,
  claimRequest,
  eraseRequest,
  finished,
  finishRequest,
  ID,
  only,
  recordOf,
  renewRequest,
  settleRequest,
} from '../../../testing/src/contract/context.ts';
import { idText } from '../../src/core/record.ts';
import { createRecords } from '../../src/stores/postgres/records.ts';
import { DECISION_TIME_MAX_MS } from '../../src/stores/postgres/statements.ts';
import { createTables } from '../../src/stores/postgres/tables.ts';
import { availablePostgres } from '../services/postgres.ts';
import { useServer, waits } from './postgres-setup.ts';
import type { Seen } from '../../src/stores/postgres/seen.ts';
import type { Ask } from '../../src/stores/postgres/client.ts';

for (const source of availablePostgres()) {
  describe(`locks: ${source.name}`, () => {
    const { database } = useServer(source);

    it('a locked row is busy for its owner, at once, and the rows beside it are written', async () => {
      const db = await database();
      const store = await db.store();
      const locked = await claimed(store, { key: 'locked' });
      const free = await claimed(store, { key: 'free' });
      const other = await db.session();
      await other.query('BEGIN');
      await other.query("SELECT 1 FROM samekey_records WHERE key = 'locked' FOR UPDATE");

      const observer = await db.session();
      const renewals = await waits(observer, store.renew([renewRequest(locked), renewRequest(free)]));
      expect(renewals.value.map(({ kind }) => kind)).toEqual(['busy', 'renewed']);
      const one = await waits(observer, store.renew([renewRequest(locked)]));
      expect(one.value).toEqual([{ kind: 'busy' }]);
      const finishes = await waits(
        observer,
        store.finish([finishRequest(locked, 'completed'), finishRequest(free, 'completed')]),
      );
      expect(finishes.value.map(({ kind }) => kind)).toEqual(['busy', 'applied']);
      const single = await waits(observer, store.finish([finishRequest(locked, 'completed')]));
      expect(single.value).toEqual([{ kind: 'busy' }]);
      expect([renewals, one, finishes, single].map((each) => each.waits)).toEqual([0, 0, 0, 0]);

      await other.query('ROLLBACK');
      expect(only(await store.finish([finishRequest(locked, 'completed')])).kind).toBe('applied');
    });

    it('an act by hand on a row that stays locked fails; beside one that was done nobody says that nothing was applied', async () => {
      const db = await database();
      const store = await db.store();
      const [locked, free] = [
        await finished(store, 'unknown', { key: 'locked' }),
        await finished(store, 'unknown', { key: 'free' }),
      ];
      const other = await db.session();
      await other.query('BEGIN');
      await other.query("SELECT 1 FROM samekey_records WHERE key = 'locked' FOR UPDATE");
      const [one, both] = [[locked], [locked, free]].map((owners) =>
        store.settle(owners.map((owner) => settleRequest(owner, 'completed'))),
      );
      await expect(one).rejects.toMatchObject({ applied: 'no', message: expect.stringMatching(/held/) });
      await expect(both).rejects.toMatchObject({
        applied: 'unknown',
        message: expect.stringMatching(/held/),
      });
      expect((await recordOf(store, free)).state).toBe('completed');
      await other.query('ROLLBACK');
    });

    it('what was decided from a reading is written only for a time after it, and only onto what was read', async () => {
      const db = await database();
      const store = await db.store();
      const owner = await claimed(store);
      const session = await db.session();
      // Nothing is believed of the time: it is the server's.
      const ask: Ask = async ({ text, times = [] }, values) =>
        (
          await session.query<unknown[]>({
            text,
            values: [...values, ...times.map(() => null)],
            rowMode: 'array',
          })
        ).rows;
      const records = createRecords(createTables('public', 'clock_timestamp()'), { heldMs: () => 0 });
      const read = async (): Promise<Seen> =>
        (await records.find(ask, [owner])).get(idText(owner)) ?? expect.fail('no record');
      const isWritten = async (seen: Seen): Promise<boolean> => {
        const write = { ...seen.record, reason: 'decided' };
        return (await records.change(ask, [{ seen, write }])).size === 1;
      };
      const before = await read();
      // Claim, attempt and state are the same after it.
      await store.renew([renewRequest(owner)]);
      expect(await isWritten(before)).toBe(false);
      const seen = await read();
      expect(await isWritten({ ...seen, laterNow: seen.laterNow - DECISION_TIME_MAX_MS - 1 })).toBe(false);
      expect(await isWritten(seen)).toBe(true);
    });

    it('erasing leaves a locked row for the next call, at once, and counts it', async () => {
      const db = await database();
      const store = await db.store();
      for (const key of ['locked', 'free']) await finished(store, 'completed', { key, scope: 't|POST /a' });
      const other = await db.session();
      await other.query('BEGIN');
      await other.query("SELECT 1 FROM samekey_records WHERE key = 'locked' FOR UPDATE");
      const first = await waits(await db.session(), store.erase(eraseRequest('t')));
      expect(first).toEqual({ value: { erased: 1, left: 1 }, waits: 0 });
      expect((await store.audit({ acts: ['erase'] })).map(({ key }) => key)).toEqual(['free']);
      await other.query('ROLLBACK');
      expect(await store.erase(eraseRequest('t'))).toEqual({ erased: 1, left: 0 });
    });

    it('two that erase one caller at once erase each record once, with one row each', async () => {
      const db = await database();
      const [one, two] = [await db.store(), await db.store()];
      const requests = Array.from({ length: 300 }, (_, i) =>
        claimRequest({ key: `k${i}`, scope: 't|POST /a' }),
      );
      await one.claim(requests);
      await one.finish(requests.map((each) => finishRequest({ ...each, attempt: 1 }, 'completed')));
      let erased = 0;
      for (let left = 1; left > 0; ) {
        const done = await Promise.all([one, two].map((store) => store.erase(eraseRequest('t', 50))));
        erased += done.reduce((sum, each) => sum + each.erased, 0);
        left = Math.min(...done.map((each) => each.left));
      }
      expect(erased).toBe(300);
      expect(await one.audit({ acts: ['erase'], limit: 1_000 })).toHaveLength(300);
    });

    it('a claim that would take over a locked row is busy, and a duplicate of it is answered', async () => {
      const db = await database();
      const store = await db.store();
      await finished(store, 'retryable', { key: 'again' });
      await finished(store, 'completed', { key: 'done' });
      const other = await db.session();
      await other.query('BEGIN');
      await other.query('SELECT 1 FROM samekey_records FOR UPDATE');
      const requests = ['again', 'done', 'new'].map((key) => claimRequest({ key }));
      const { waits: count, value } = await waits(await db.session(), store.claim(requests));
      expect(value.map(({ kind }) => kind)).toEqual(['busy', 'found', 'claimed']);
      expect(count).toBe(0);
      await other.query('ROLLBACK');
      expect(only(await store.claim([requests[0] as (typeof requests)[0]])).kind).toBe('claimed');
    });

    it('a duplicate does not wait for the open transaction that finishes its key', async () => {
      const db = await database();
      const store = await db.store();
      const owner = await claimed(store);
      const user = await db.session();
      await user.query('BEGIN');
      expect((await store.within(user).finish(finishRequest(owner, 'completed'))).kind).toBe('applied');
      const { waits: count, value } = await waits(
        await db.session(),
        store.claim([claimRequest(), claimRequest({ key: 'new' })]),
      );
      expect(value.map(({ kind }) => kind)).toEqual(['found', 'claimed']);
      expect(count).toBe(0);
      expect(only(await store.renew([renewRequest(owner)])).kind).toBe('busy');
      await user.query('COMMIT');
      expect((await recordOf(store)).response).toEqual(ANSWER);
    });

    it('a key whose insert is not committed yet is busy within a bound, and its neighbours are claimed', async () => {
      const db = await database();
      const store = await db.store();
      await claimed(store, { key: 'template' });
      const other = await db.session();
      const columns = (
        await other.query<{ c: string }>(
          `SELECT string_agg(column_name, ', ') AS c FROM information_schema.columns
           WHERE table_name = 'samekey_records' AND column_name <> 'key'`,
        )
      ).rows[0]?.c;
      await other.query('BEGIN');
      await other.query(
        `INSERT INTO samekey_records (key, ${columns}) SELECT 'held', ${columns} FROM samekey_records`,
      );
      const keys = ['a', 'b', 'held', 'c', 'd', 'e', 'f', 'g'];
      const { waits: count, value } = await waits(
        await db.session(),
        store.claim(keys.map((key) => claimRequest({ key }))),
      );
      expect(value.filter(({ kind }) => kind === 'claimed').length).toBeGreaterThanOrEqual(5);
      expect(value[2]).toEqual({ kind: 'busy' });
      // Each of lock_timeout: the whole, and a half on the way to the key itself.
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThanOrEqual(5);
      await other.query('ROLLBACK');
      expect(only(await store.claim([claimRequest({ key: 'held' })])).kind).toBe('claimed');
    });

    it('the sweeper and the reaper pass over locked rows', async () => {
      const db = await database();
      const store = await db.store();
      await claimed(store, { key: 'over', claimTtlMs: 1 });
      await finished(store, 'completed', { key: 'old', retentionMs: 1, replayMinMs: 0 });
      await new Promise((resolve) => setTimeout(resolve, 20));
      const other = await db.session();
      await other.query('BEGIN');
      await other.query('SELECT 1 FROM samekey_records FOR UPDATE');
      const { waits: count, value } = await waits(
        await db.session(),
        Promise.all([store.sweep(10), store.reap(10)]),
      );
      expect(value).toEqual([[], { count: 0, byScope: new Map() }]);
      expect(count).toBe(0);
      await other.query('COMMIT');
      expect((await store.sweep(10)).map(({ key }) => key)).toEqual(['over']);
      expect((await store.reap(10)).count).toBe(1);
    });

    // F9, F11: 50 claimers at once over several processes' connections, again and again.
    it('of many claimers over several connections one gets each key', async () => {
      const db = await database();
      const stores = await Promise.all(Array.from({ length: 5 }, () => db.store()));
      for (let round = 0; round < 20; round += 1) {
        const ids = Array.from({ length: 4 }, (_, i) => ({ ...ID, key: `${round}-${i}` }));
        const results = await Promise.all(
          Array.from({ length: 50 }, (_, i) =>
            // Each its own order: flushes that meet must not wait for each other in a circle.
            (stores[i % 5] as (typeof stores)[0]).claim(
              (i % 2 === 0 ? ids : ids.toReversed()).map((id) => claimRequest(id)),
            ),
          ),
        );
        const won = results.flat().filter(({ kind }) => kind === 'claimed');
        expect(won.length).toBe(ids.length);
        expect(results.flat().filter(({ kind }) => kind === 'busy')).toEqual([]);
      }
    });
  });
}
