/** The transactional way on real databases: what commits together, what is rolled back, and who runs again. */

import { describe, expect, it } from 'vitest';
import type { PoolClient } from 'pg';
import { createSamekey, type Samekey, type SamekeyEvent, reply } from '../../src/index.ts';
import { fromPg } from '../../src/tx/pg/index.ts';
import { anyPostgres } from '../services/postgres.ts';
import { useServer } from '../stores/postgres-setup.ts';

const source = anyPostgres();

describe.runIf(source !== undefined)('transactional on PostgreSQL', () => {
  const { database } = useServer(source as NonNullable<typeof source>);

  async function setUp(isolation?: 'repeatable read' | 'serializable'): Promise<{
    readonly samekey: Samekey<PoolClient>;
    readonly events: SamekeyEvent[];
    readonly count: () => Promise<number>;
    readonly query: (text: string) => Promise<unknown>;
  }> {
    const db = await database();
    const pool = db.pool(10);
    await pool.query('CREATE TABLE orders (id text PRIMARY KEY, amount int UNIQUE)');
    const events: SamekeyEvent[] = [];
    const samekey = createSamekey({
      store: await db.store(),
      transactions: fromPg<PoolClient>(pool, isolation === undefined ? {} : { isolation }),
      onEvent: (event) => events.push(event),
    });
    return {
      samekey,
      events,
      count: async () => Number((await pool.query('SELECT count(*) FROM orders')).rows[0].count),
      query: (text) => pool.query(text),
    };
  }

  const request = { scope: ['t1'], key: 'k-1', input: { id: 'o-1', amount: 5 } };

  it('commits the business write and the record together, and replays', async () => {
    const { samekey, count } = await setUp();
    const order = samekey.transactional({
      name: 'order',
      run: async (input: { id: string; amount: number }, attempt) => {
        await attempt.tx.query('INSERT INTO orders VALUES ($1, $2)', [input.id, input.amount]);
        return reply(201, { id: input.id });
      },
    });
    expect(await order.run(request)).toMatchObject({
      kind: 'executed',
      state: 'completed',
      value: { id: 'o-1' },
    });
    expect(await order.run(request)).toMatchObject({ kind: 'replay', value: { id: 'o-1' } });
    expect(await order.run({ ...request, input: { id: 'o-2', amount: 5 } })).toMatchObject({
      kind: 'mismatch',
    });
    expect(await count()).toBe(1);
  });

  it('a throw rolls back, is thrown on, and the next attempt runs', async () => {
    const { samekey, count, events } = await setUp();
    let runs = 0;
    const order = samekey.transactional({
      name: 'order',
      run: async (input: { id: string; amount: number }, attempt) => {
        await attempt.tx.query('INSERT INTO orders VALUES ($1, $2)', [input.id, input.amount]);
        runs += 1;
        if (runs === 1) throw new Error('out of paper');
        return { attempt: attempt.number };
      },
    });
    await expect(order.run(request)).rejects.toThrow('out of paper');
    expect(await count()).toBe(0);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'finished', to: 'retryable', proof: 'rolledBack' }),
    );
    expect(await order.run(request)).toMatchObject({ kind: 'executed', value: { attempt: 2 } });
    expect(await count()).toBe(1);
  });

  // F16: a unique violation on another column of the business table is the handler's own error.
  it('a unique violation of the business table surfaces as it is', async () => {
    const { samekey, query, count } = await setUp();
    await query("INSERT INTO orders VALUES ('o-0', 5)");
    const order = samekey.transactional({
      name: 'order',
      run: async (input: { id: string; amount: number }, attempt) => {
        await attempt.tx.query('INSERT INTO orders VALUES ($1, $2)', [input.id, input.amount]);
        return 'done';
      },
    });
    await expect(order.run(request)).rejects.toMatchObject({ code: '23505' });
    expect(await count()).toBe(1);
  });

  it('rollback() keeps the refusal and drops the writes', async () => {
    const { samekey, count } = await setUp();
    const order = samekey.transactional({
      name: 'order',
      run: async (input: { id: string; amount: number }, attempt) => {
        await attempt.tx.query('INSERT INTO orders VALUES ($1, $2)', [input.id, input.amount]);
        attempt.rollback();
        return reply(409, { code: 'out-of-stock' });
      },
    });
    expect(await order.run(request)).toMatchObject({ kind: 'executed', state: 'failed' });
    expect(await order.run(request)).toMatchObject({ kind: 'replay', value: { code: 'out-of-stock' } });
    expect(await count()).toBe(0);
  });

  it('serialization failures run the handler again within the same attempt', async () => {
    const { samekey, query } = await setUp('serializable');
    await query('CREATE TABLE counters (n int)');
    await query('INSERT INTO counters VALUES (0)');
    const bump = samekey.transactional({
      name: 'bump',
      run: async (_input: null, attempt) => {
        const { rows } = await attempt.tx.query('SELECT n FROM counters');
        await attempt.tx.query('UPDATE counters SET n = $1', [rows[0].n + 1]);
        return rows[0].n;
      },
    });
    const outcomes = await Promise.all(
      Array.from({ length: 3 }, (_, i) => bump.run({ scope: ['t'], key: `b-${i}`, input: null })),
    );
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(['executed', 'executed', 'executed']);
    expect((await query('SELECT n FROM counters')) as { rows: unknown }).toMatchObject({ rows: [{ n: 3 }] });
  });

  // A statement that nobody awaited fails after the handler has ended: COMMIT is then answered with ROLLBACK.
  it('a transaction that a stray query has ended is not taken for committed', async () => {
    const { samekey, count } = await setUp();
    let runs = 0;
    const order = samekey.transactional({
      name: 'order',
      run: async (input: { id: string; amount: number }, attempt) => {
        runs += 1;
        await attempt.tx.query('INSERT INTO orders VALUES ($1, $2)', [input.id, input.amount]);
        if (runs === 1) attempt.tx.query('SELECT 1 / 0').catch(() => undefined);
        return 'done';
      },
    });
    await expect(order.run(request)).rejects.toThrow();
    expect(await count()).toBe(0);
    expect(await order.run(request)).toMatchObject({ kind: 'executed', value: 'done' });
    expect(await count()).toBe(1);
  });

  it('a transaction that cannot begin is told with its error, and the key is free again', async () => {
    const db = await database();
    const ended = db.pool(1);
    await ended.end();
    const events: SamekeyEvent[] = [];
    const store = await db.store();
    const samekey = createSamekey({
      store,
      transactions: fromPg<PoolClient>(ended),
      onEvent: (event) => events.push(event),
    });
    const order = samekey.transactional({ name: 'order', run: ran });
    expect(await order.run(request)).toMatchObject({ kind: 'unavailable' });
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'transaction-not-started', error: expect.any(Error) }),
    );
    const again = createSamekey({ store, transactions: fromPg<PoolClient>(db.pool(1)) });
    expect(await again.transactional({ name: 'order', run: ran }).run(request)).toMatchObject({
      value: 'ran',
    });
  });
});

async function ran(_input: unknown): Promise<string> {
  return 'ran';
}
