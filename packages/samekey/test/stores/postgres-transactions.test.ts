/** A user's transaction: what `within` may do in it, and what it never does to it. */

import postgres from 'postgres';
import { describe, expect, it } from 'vitest';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import {
  ANSWER,
  claimed,
  claimRequest,
  finished,
  finishRequest,
  only,
  recordOf,
  renewRequest,
} from '../../../testing/src/contract/context.ts';
import { availablePostgres } from '../services/postgres.ts';
import { useServer } from './postgres-setup.ts';

for (const source of availablePostgres()) {
  describe(`transactions: ${source.name}`, () => {
    const { database } = useServer(source);

    // F14
    it('no collision of ours, no refusal and no bad text aborts the transaction of the caller', async () => {
      const db = await database();
      const store = await db.store();
      const owner = await claimed(store);
      const done = await finished(store, 'completed', { key: 'done' });
      const user = await db.session();
      await user.query('CREATE TABLE orders (id text PRIMARY KEY)');
      await user.query('BEGIN');
      await user.query("INSERT INTO orders VALUES ('1')");
      await store.claim([claimRequest()]);
      const within = store.within(user);
      expect((await within.finish(finishRequest(done, 'failed'))).kind).toBe('refused');
      expect((await within.finish(finishRequest({ ...done, key: 'never' }, 'failed'))).kind).toBe('refused');
      await expect(within.finish(finishRequest({ ...owner, key: 'a\0b' }, 'failed'))).rejects.toMatchObject({
        applied: 'no',
        transient: false,
      });
      await user.query("INSERT INTO orders VALUES ('2')");
      expect((await within.finish(finishRequest(owner, 'completed'))).kind).toBe('applied');
      await user.query('COMMIT');
      expect((await user.query('SELECT id FROM orders')).rows.length).toBe(2);
      expect((await recordOf(store)).response).toEqual(ANSWER);
    });

    // F16
    it('a unique violation of the business table is the caller’s, and takes the finish back with it', async () => {
      const db = await database();
      const store = await db.store();
      const owner = await claimed(store);
      const user = await db.session();
      await user.query("CREATE TABLE orders (id text PRIMARY KEY); INSERT INTO orders VALUES ('1')");
      await user.query('BEGIN');
      await store.within(user).finish(finishRequest(owner, 'completed'));
      await expect(user.query("INSERT INTO orders VALUES ('1')")).rejects.toMatchObject({ code: '23505' });
      await user.query('ROLLBACK');
      expect((await recordOf(store)).state).toBe('in_progress');
    });

    it('the settings of the transaction stay the caller’s, except that its commit is durable', async () => {
      const db = await database();
      const store = await db.store();
      const owner = await claimed(store);
      const user = await db.session();
      await user.query("SET synchronous_commit = off; SET lock_timeout = '7s'; BEGIN");
      await store.within(user).finish(finishRequest(owner, 'completed'));
      const setting = async (name: string): Promise<unknown> =>
        (await user.query(`SHOW ${name}`)).rows[0]?.[name];
      expect(await setting('synchronous_commit')).toBe('on');
      expect(await setting('lock_timeout')).toBe('7s');
      await user.query('COMMIT');
      expect(await setting('synchronous_commit')).toBe('off');
    });

    for (const level of ['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE']) {
      it(`an attempt that was fenced out cannot finish at ${level}`, async () => {
        const db = await database();
        const store = await db.store();
        const old = await claimed(store, { whenClaimEnds: 'resume', claimTtlMs: 1 });
        const user = await db.session();
        await user.query(`BEGIN ISOLATION LEVEL ${level}`);
        await user.query('SELECT 1');
        await new Promise((resolve) => setTimeout(resolve, 20));
        const owner = await claimed(store);
        expect(owner.attempt).toBe(2);
        const outcome = await store
          .within(user)
          .finish(finishRequest(old, 'completed'))
          .then(
            ({ kind }) => kind,
            (error: { applied?: unknown; cause?: { code?: unknown } }) =>
              `${String(error.applied)} ${String(error.cause?.code)}`,
          );
        expect(outcome).toBe(level === 'READ COMMITTED' ? 'refused' : 'no 40001');
        await user.query('ROLLBACK');
        expect(only(await store.finish([finishRequest(owner, 'completed')])).kind).toBe('applied');
      });
    }

    it('a renewal that comes in between is waited for, and the attempt still is its own', async () => {
      const db = await database();
      const store = await db.store();
      const owner = await claimed(store);
      const other = await db.session();
      await other.query(
        "BEGIN; UPDATE samekey_records SET renewals = renewals + 1, locked_until = locked_until + '1 s'",
      );
      const user = await db.session();
      await user.query('BEGIN');
      const finishing = store.within(user).finish(finishRequest(owner, 'completed'));
      await new Promise((resolve) => setTimeout(resolve, 100));
      await other.query('COMMIT');
      expect((await finishing).kind).toBe('applied');
      await user.query('COMMIT');
      expect(only(await store.renew([renewRequest(owner)])).kind).toBe('lost');
    });

    it('a client that is in no transaction is refused', async () => {
      const db = await database();
      const store = await db.store();
      const owner = await claimed(store);
      const user = await db.session();
      await user.query('SELECT 1');
      expect(() => store.within(user)).toThrow(/between BEGIN and COMMIT/);
      await user.query('BEGIN');
      const within = store.within(user);
      await user.query('COMMIT');
      await expect(within.finish(finishRequest(owner, 'completed'))).rejects.toMatchObject({ applied: 'no' });
      const sql = postgres(db.url, { max: 1, fetch_types: false });
      expect(() => store.within(sql)).toThrow(/between BEGIN and COMMIT/);
      await sql.end();
    });
  });
}

describe('options', () => {
  it.each<[string, object, RegExp]>([
    ['nothing', {}, /exactly one/],
    ['both', { pool: {}, connect: () => undefined }, /exactly one/],
    [
      'postgres.js as pool',
      { pool: postgres({ max: 1 }) },
      /connect: \(\) => postgres\(url, \{ max: 1, fetch_types: false \}\)/,
    ],
    ['one connection', { pool: { query: () => undefined } }, /swallow claims/],
    ['an unknown option', { pool: {}, pol: 1 }, /no option "pol"/],
    ['a schema that is none', { connect: () => undefined, schema: 'a"b' }, /schema/],
    ['no time', { connect: () => undefined, statementTimeMaxMs: 0 }, /statementTimeMaxMs/],
  ])('%s is refused at once', (_, options, message) => {
    expect(() => postgresStore({ service: 'test', ...options })).toThrow(message);
  });
});
