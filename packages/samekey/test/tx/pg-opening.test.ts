/** Limits that go out with BEGIN: on which sessions, and what becomes of a session that has forgotten them. */

import { Client, Pool, type PoolClient } from 'pg';
import postgres, { type TransactionSql } from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSamekey } from '../../src/index.ts';
import { type PostgresStoreOptions, postgresStore } from '../../src/stores/postgres/index.ts';
import { fromPg } from '../../src/tx/pg/index.ts';
import { fromPostgresJs } from '../../src/tx/postgres-js/index.ts';
import { fill } from '../stores/postgres-fill.ts';
import { availablePostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';

const [newest] = availablePostgres();

describe.skipIf(newest === undefined)('limits that go out with BEGIN', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    if (newest !== undefined) server = await startPostgres(newest);
  });
  afterAll(() => server?.stop());

  it('go out so from the third transaction of a session on, and stand', async () => {
    await using t = await setUp();
    const seen: string[] = [];
    for (const key of ['key-1', 'key-2', 'key-3']) {
      t.sent.length = 0;
      await t.run(key, async (tx) => {
        seen.push(String((await tx.query('SHOW statement_timeout')).rows[0].statement_timeout));
      });
      expect(t.sent.filter((text) => text.startsWith('BEGIN'))).toEqual([
        key === 'key-3' ? expect.stringMatching(/^BEGIN; EXECUTE samekey_limit_\w+\(\d+\)$/) : 'BEGIN',
      ]);
    }
    expect(seen).toEqual(Array.from({ length: 3 }, () => expect.stringMatching(/^(?:\d{1,5}ms|\d\d?s)$/)));
  });

  it('leave a stricter limit of the session as it is', async () => {
    await using t = await setUp();
    await t.warm();
    await t.pool.query("SET lock_timeout = '70ms'");
    await t.run('key-strict', async (tx) => {
      expect((await tx.query('SHOW lock_timeout')).rows[0].lock_timeout).toBe('70ms');
    });
    expect(t.sent.some((text) => text.startsWith('BEGIN; EXECUTE'))).toBe(true);
  });

  it('are sent by themselves in a session that has forgotten what it had prepared, and nothing is lost', async () => {
    await using t = await setUp();
    await t.warm();
    await t.pool.query('DISCARD ALL');
    t.sent.length = 0;
    let runs = 0;
    for (const key of ['key-after-1', 'key-after-2']) {
      await t.run(key, async (tx) => {
        runs += 1;
        expect((await tx.query('SHOW statement_timeout')).rows[0].statement_timeout).not.toBe('0');
      });
    }
    expect(runs).toBe(2);
    expect(t.sent.filter((text) => /^(?:BEGIN|ROLLBACK)/.test(text))).toEqual([
      expect.stringContaining('EXECUTE'),
      'ROLLBACK',
      'BEGIN',
      'BEGIN',
    ]);
  });

  it('a name that is forgotten within the transaction rolls it back, and the handler runs again', async () => {
    await using t = await setUp();
    // On fewer nothing is prepared that reads the table.
    await fill(t.pool, 2_000);
    await t.warm();
    let runs = 0;
    const result = await t.run('key-forgotten-inside', async (tx) => {
      runs += 1;
      if (runs === 1) await tx.query('DEALLOCATE ALL');
      await tx.query('INSERT INTO orders VALUES ($1)', [`order-${runs}`]);
    });
    expect(result).toMatchObject({ kind: 'executed' });
    expect((await t.pool.query('SELECT id FROM orders')).rows).toEqual([{ id: 'order-2' }]);
  });

  it('a name that the handler itself asks for and nobody knows ends the attempt: it does not run again', async () => {
    await using t = await setUp();
    await t.warm();
    let runs = 0;
    const result = t.run('key-of-theirs', async (tx) => {
      runs += 1;
      await tx.query('EXECUTE theirs');
    });
    await expect(result).rejects.toMatchObject({ code: '26000' });
    expect(runs).toBe(1);
  });

  it('a transaction that was ended inside is noticed after limits that went out with BEGIN', async () => {
    await using t = await setUp();
    await t.warm();
    const result = await t.run('key-ended', async (tx) => {
      await tx.query('COMMIT');
      await tx.query('BEGIN');
    });
    expect(result.kind).toBe('unknown');
  });

  it('prepare nothing where another process answers than the one that greeted, nor with prepare: false', async () => {
    for (const [greeted, options] of [[1, {}] as const, [undefined, { prepare: false }] as const]) {
      await using t = await setUp(options, greeted);
      await t.warm();
      await t.run('key-pooled', async () => undefined);
      expect(t.sent.filter((text) => text.includes('EXECUTE'))).toEqual([]);
      const { rows } = await t.pool.query('SELECT name FROM pg_prepared_statements');
      expect(rows).toEqual([]);
    }
  });

  it('prepare nothing any more once another process has answered', async () => {
    await using t = await setUp();
    await t.warm();
    await t.run('key-greeted', async (tx) => void Object.assign(tx, { processID: 1 }));
    t.sent.length = 0;
    for (const key of ['key-other', 'key-after']) await t.run(key, async () => undefined);
    const begins = t.sent.filter((text) => text.startsWith('BEGIN'));
    expect(begins).toEqual([expect.stringContaining('EXECUTE'), 'BEGIN']);
  });

  it('postgres.js keeps the completion prepared in a session whose own process answers', async () => {
    const connectionString = await server.createDatabase();
    const store = postgresStore({ service: 'test', connect: () => new Client({ connectionString }) });
    await store.migrate();
    const sql = postgres(connectionString, { max: 1, fetch_types: false, onnotice: () => undefined });
    const samekey = createSamekey({ store, transactions: fromPostgresJs<TransactionSql>(sql) });
    const pay = samekey.transactional({ name: 'pay', run: async (_input: null) => ({ done: true }) });
    const kept = async () =>
      (
        await sql.unsafe(
          "SELECT 1 FROM pg_prepared_statements WHERE statement LIKE '%UPDATE%samekey_records%'",
        )
      ).length;
    await pay.run({ scope: ['t'], key: 'key-on-a-small-table', input: null });
    expect(await kept()).toBe(0);
    await fill({ query: (text: string, values: never[]) => sql.unsafe(text, values) } as never, 2_000);
    await pay.run({ scope: ['t'], key: 'key-on-a-large-table', input: null });
    expect(await kept()).toBe(1);
    await samekey.close();
    await sql.end();
    await store.close();
  });

  describe('with keys that are reserved in the transaction', () => {
    const odd = `it's "odd" \\ $1 {}`;

    it('go out so once the table is large, with any key and tenant, in four messages for a new key', async () => {
      await using t = await setUp({}, undefined, 'in-transaction');
      await t.warm();
      expect(t.sent.filter((text) => text.includes('EXECUTE'))).toEqual([]);
      await fill(t.pool, 2_000);
      await t.warm('on-a-large-table');
      t.sent.length = 0;
      const insert = async (tx: PoolClient): Promise<void> => {
        await tx.query('INSERT INTO orders VALUES ($1)', [odd]);
      };
      expect(await t.run(odd, insert)).toMatchObject({ kind: 'executed' });
      expect(t.sent).toEqual([
        expect.stringMatching(/^BEGIN; EXECUTE samekey_reserve_\w+\(.*, 30000\)$/),
        expect.stringContaining('INSERT INTO orders'),
        expect.stringContaining('samekey_records AS r (scope, key'),
        'COMMIT',
      ]);
      expect(await t.run(odd, insert)).toMatchObject({ kind: 'replay' });
      const { rows } = await t.pool.query('SELECT key, attempt FROM samekey_records WHERE key = $1', [odd]);
      expect(rows).toEqual([{ key: odd, attempt: 1 }]);
    });

    it('say any key as it is, whatever the session makes of backslashes', async () => {
      await using t = await setUp({}, undefined, 'in-transaction');
      await fill(t.pool, 2_000);
      for (const name of ['warm', 'warmer']) await t.warm(name);
      await t.pool.query("SET standard_conforming_strings = off; SET backslash_quote = 'on'");
      const keys = ['plain_key |/.:@+=,~-9', "'", "''", '\\', "\\'); --", 'a b', '$1'];
      t.sent.length = 0;
      for (const key of keys)
        expect(await t.run(key, async () => undefined)).toMatchObject({ kind: 'executed' });
      const { rows } = await t.pool.query('SELECT key FROM samekey_records WHERE key = ANY($1)', [keys]);
      expect(new Set(rows.map(({ key }) => key))).toEqual(new Set(keys));
      const said = t.sent.filter((text) => text.includes('EXECUTE'));
      expect(said.filter((text) => text.includes(`'plain_key |/.:@+=,~-9'`))).toHaveLength(1);
      // One that was refused would be rolled back, and claimed.
      expect(t.sent.filter((text) => /^(?:BEGIN|ROLLBACK)/.test(text))).toEqual(said);
      expect(said).toHaveLength(keys.length);
      for (const key of keys)
        expect(await t.run(key, async () => undefined)).toMatchObject({ kind: 'replay' });
    });

    it('reserve in a session that has forgotten its names, and behind a pooler, by themselves', async () => {
      for (const greeted of [undefined, 1]) {
        await using t = await setUp({}, greeted, 'in-transaction');
        await fill(t.pool, 2_000);
        for (const name of ['warm', 'warmer']) await t.warm(name);
        await t.pool.query('DISCARD ALL');
        let runs = 0;
        for (const key of ['key-after-1', 'key-after-2']) {
          await t.run(key, async (tx) => {
            runs += 1;
            expect((await tx.query('SHOW lock_timeout')).rows[0].lock_timeout).toBe('30s');
          });
        }
        expect(runs).toBe(2);
        const { rows } = await t.pool.query(
          "SELECT count(*)::int FROM samekey_records WHERE key LIKE 'key-after-%'",
        );
        expect(rows).toEqual([{ count: 2 }]);
      }
    });

    it('a transaction that is ended inside frees its key, and its outcome is unknown', async () => {
      await using t = await setUp({}, undefined, 'in-transaction');
      for (let i = 0; i < 2; i += 1) {
        const result = await t.run('key-ended', async (tx) => {
          await tx.query('INSERT INTO orders VALUES (1)');
          await tx.query('COMMIT');
          await tx.query('BEGIN');
        });
        expect(result.kind).toBe('unknown');
      }
      expect((await t.pool.query('SELECT id FROM orders')).rows).toEqual([{ id: '1' }]);
    });

    it('an owner that is cut off leaves nothing, and the next request runs at once', async () => {
      await using t = await setUp({}, undefined, 'in-transaction');
      const cut = t.run('key-cut', async (tx) => {
        await tx.query('INSERT INTO orders VALUES (1)');
        await t.admin.query('SELECT pg_terminate_backend(l.pid) FROM pg_locks l WHERE l.locktype = $1', [
          'advisory',
        ]);
        await tx.query('SELECT 1');
      });
      await expect(cut).rejects.toThrow();
      expect(await t.run('key-cut', async () => undefined)).toMatchObject({ kind: 'executed' });
      expect((await t.pool.query('SELECT id FROM orders')).rows).toEqual([]);
    });
  });

  async function setUp(
    options: Partial<PostgresStoreOptions> = {},
    greeted?: number,
    reserve: 'before' | 'in-transaction' = 'before',
  ) {
    const connectionString = await server.createDatabase();
    const connect = () => new Client({ connectionString });
    const store = postgresStore({ service: 'test', connect, ...options });
    await store.migrate();
    // What goes over the wire is asked of the client itself.
    const sent: string[] = [];
    const pool = new Pool({ connectionString, max: 1 });
    pool.on('error', () => undefined);
    const admin = new Pool({ connectionString, max: 1 });
    pool.on('connect', (client) => {
      if (greeted !== undefined) Object.assign(client, { processID: greeted });
      const query = client.query.bind(client) as (...args: unknown[]) => unknown;
      client.query = ((...args: unknown[]) => {
        const [asked] = args;
        sent.push(typeof asked === 'string' ? asked : String((asked as { text?: unknown }).text));
        return query(...args);
      }) as typeof client.query;
    });
    await pool.query('CREATE TABLE orders (id text PRIMARY KEY)');
    const samekey = createSamekey({ store, transactions: fromPg<PoolClient>(pool) });
    const bodies = new Map<string, (tx: PoolClient) => Promise<void>>();
    const placeOrder = samekey.transactional({
      name: 'place-order',
      reserve,
      run: async (_input: null, { key, tx }) => {
        await bodies.get(key)?.(tx);
        return { done: true };
      },
    });
    const run = (key: string, body: (tx: PoolClient) => Promise<void>) => {
      bodies.set(key, body);
      return placeOrder.run({ scope: ["o'tenant"], key, input: null });
    };
    return {
      pool,
      admin,
      sent,
      run,
      async warm(name = 'warm') {
        for (let i = 0; i < 2; i += 1) await run(`key-${name}-${i}`, async () => undefined);
      },
      async [Symbol.asyncDispose]() {
        await samekey.close();
        await pool.end();
        await admin.end();
        await store.close();
      },
    };
  }
});
