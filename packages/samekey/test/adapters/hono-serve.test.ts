/** An operation of the transactional way, served by Hono on PostgreSQL. */

import { Hono } from 'hono';
import type { PoolClient } from 'pg';
import { describe, expect, it } from 'vitest';
import { serve } from '../../src/adapters/hono/index.ts';
import { createSamekey, reply } from '../../src/index.ts';
import { fromPg } from '../../src/tx/pg/index.ts';
import { anyPostgres } from '../services/postgres.ts';
import { useServer } from '../stores/postgres-setup.ts';

const source = anyPostgres();

describe.runIf(source !== undefined)('an operation served by Hono', () => {
  const { database } = useServer(source as NonNullable<typeof source>);

  it('commits with its record, replays with the headers from outside, and refuses what it cannot read', async () => {
    const db = await database();
    const pool = db.pool();
    await pool.query('CREATE TABLE orders (id serial PRIMARY KEY, item text NOT NULL)');
    const samekey = createSamekey({ store: await db.store(), transactions: fromPg<PoolClient>(pool) });
    const order = samekey.transactional({
      name: 'order',
      run: async (input: { item: string }, attempt) => {
        const { rows } = await attempt.tx.query('INSERT INTO orders (item) VALUES ($1) RETURNING id', [
          input.item,
        ]);
        return reply(201, { id: rows[0].id });
      },
    });
    const app = new Hono<{ Variables: { account: string } }>();
    app.use(async (c, next) => {
      c.header('X-Outer', 'yes');
      c.set('account', c.req.header('x-account') ?? '');
      await next();
    });
    app.all('/orders', serve(order, { scope: (c) => c.get('account') }));

    const post = (body: string, account = 'acme'): Promise<Response> =>
      Promise.resolve(
        app.request('/orders', {
          method: 'POST',
          headers: { 'Idempotency-Key': 'key-1', 'Content-Type': 'application/json', 'X-Account': account },
          body,
        }),
      );
    const first = await post('{"item":"tea"}');
    expect([first.status, await first.json(), first.headers.get('x-outer')]).toEqual([201, { id: 1 }, 'yes']);
    const again = await post('{ "item": "tea" }');
    expect([again.status, await again.json()]).toEqual([201, { id: 1 }]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.headers.get('x-outer')).toBe('yes');
    expect((await post('{"item":"milk"}')).status).toBe(422);
    expect((await post('{"item":', 'globex')).status).toBe(400);
    const get = await app.request('/orders');
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST, PATCH, PUT, DELETE']);
    expect((await pool.query('SELECT item FROM orders')).rows).toEqual([{ item: 'tea' }]);
    await samekey.close({ drainMs: 0 });
  });
});
