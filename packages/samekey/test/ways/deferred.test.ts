/** The deferred way: noted now, run by a worker, asked about at a status resource. */

import { setTimeout as pause } from 'node:timers/promises';
import express from 'express';
import type { PoolClient } from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { serve, serveStatus } from '../../src/adapters/express/index.ts';
import { createSamekey, reply } from '../../src/index.ts';
import { internalsOf } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { pushDue } from '../../src/ways/completer.ts';
import { fromMemory } from '../../src/tx/memory/index.ts';
import { fromPg } from '../../src/tx/pg/index.ts';
import { anyPostgres } from '../services/postgres.ts';
import { useServer } from '../stores/postgres-setup.ts';

const scope = (req: express.Request): string | undefined => req.get('x-tenant');

const request = { scope: ['t1'], key: 'k-1', input: { month: 5 } };

describe('deferred', () => {
  const closing: (() => void)[] = [];
  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });

  it('is noted, run by a worker and replayed', async () => {
    const samekey = createSamekey({ store: memoryStore() });
    const runs: unknown[] = [];
    const report = samekey.deferred(
      samekey.plain({
        name: 'report',
        policy: 'standard',
        run: (input: { month: number }, attempt) => {
          runs.push({ ...input, attempt: attempt.number });
          return reply(201, { pages: input.month });
        },
      }),
    );
    expect(await report.run(request)).toMatchObject({ kind: 'pending' });
    expect(await report.run(request)).toMatchObject({ kind: 'pending' });
    expect(await report.run({ ...request, input: { month: 6 } })).toMatchObject({ kind: 'mismatch' });
    expect(runs).toEqual([]);
    const pushed = await pushDue(internalsOf(samekey), 10);
    expect(pushed.map(({ outcome }) => outcome.kind)).toEqual(['executed']);
    expect(runs).toEqual([{ month: 5, attempt: 1 }]);
    expect(await report.run(request)).toMatchObject({ kind: 'replay', value: { pages: 5 } });
    expect(await pushDue(internalsOf(samekey), 10)).toEqual([]);
  });

  it('one that reserves its keys in its transaction is noted first all the same', async () => {
    const store = memoryStore();
    const samekey = createSamekey({ store, transactions: fromMemory(store) });
    const report = samekey.deferred(
      samekey.transactional({
        name: 'report',
        reserve: 'in-transaction',
        run: (_input: { month: number }, { tx, number }) => {
          tx.set('report', number);
          return number;
        },
      }),
    );
    expect(await report.run(request)).toMatchObject({ kind: 'pending' });
    expect(store.rows.get('report')).toBeUndefined();
    await pushDue(internalsOf(samekey), 10);
    expect(await report.run(request)).toMatchObject({ kind: 'replay', value: 1 });
  });

  it('a process that does not know the operation leaves it alone', async () => {
    const store = memoryStore();
    const samekey = createSamekey({ store });
    const report = samekey.deferred(samekey.plain({ name: 'report', policy: 'standard', run: () => 'done' }));
    await report.run(request);
    const other = createSamekey({ store });
    other.deferred(other.plain({ name: 'another', policy: 'standard', run: () => 'done' }));
    expect(await pushDue(internalsOf(other), 10)).toEqual([]);
    expect((await store.count()).pending).toBe(1);
  });

  it('never begun by its deadline it fails with 408, once and for all', async () => {
    let now = 1_000;
    const store = memoryStore({ now: () => now });
    const samekey = createSamekey({ store });
    const report = samekey.deferred(
      samekey.plain({ name: 'report', policy: 'standard', run: () => 'done' }),
      { pendingTimeMaxMs: 500 },
    );
    await report.run(request);
    now += 500;
    expect(await pushDue(internalsOf(samekey), 10)).toEqual([]);
    expect(await store.sweep(10)).toMatchObject([{ to: 'failed' }]);
    expect(await report.run(request)).toMatchObject({ kind: 'replay', response: { status: 408 } });
  });

  it('over HTTP it answers 202 with Location, and the status resource is guarded by the scope', async () => {
    const samekey = createSamekey({ store: memoryStore() });
    const report = samekey.deferred(
      samekey.plain({
        name: 'report',
        policy: 'standard',
        run: ({ month }: { month: number }) => reply(201, { month }),
      }),
    );
    const app = express();
    app.post('/reports', serve(report, { scope, location: (_, key) => `/reports/status/${key}` }));
    app.get('/reports/status/:key', serveStatus(report, { scope, key: (req) => String(req.params['key']) }));
    const server = app.listen(0);
    closing.push(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    const base = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
    const ask = (path: string, tenant = 'a'): Promise<Response> =>
      fetch(`${base}${path}`, { headers: { 'x-tenant': tenant } });

    expect((await ask('/reports/status/k1')).status).toBe(404);
    const accepted = await fetch(`${base}/reports`, {
      method: 'POST',
      headers: { 'x-tenant': 'a', 'idempotency-key': '"k1"', 'content-type': 'application/json' },
      body: '{"month":5}',
    });
    expect(accepted.status).toBe(202);
    expect(Number(accepted.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    const location = accepted.headers.get('location') ?? '';
    expect(location).toBe('/reports/status/k1');
    expect((await ask(location)).status).toBe(202);
    expect((await ask(location, 'b')).status).toBe(404);
    await pushDue(internalsOf(samekey), 10);
    const done = await ask(location);
    expect(done.status).toBe(201);
    expect(done.headers.get('idempotency-replayed')).toBe('true');
    expect(await done.json()).toEqual({ month: 5 });
    expect((await ask(location, 'b')).status).toBe(404);
  });

  it('a body that is no JSON is refused before anything is noted', async () => {
    const store = memoryStore();
    const samekey = createSamekey({ store });
    const report = samekey.deferred(samekey.plain({ name: 'report', policy: 'standard', run: () => 'done' }));
    const app = express();
    app.post('/reports', serve(report, { scope: () => 'a' }));
    const server = app.listen(0);
    closing.push(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const answer = await fetch(`http://127.0.0.1:${port}/reports`, {
      method: 'POST',
      headers: { 'idempotency-key': '"k1"', 'content-type': 'application/json' },
      body: '{"month":',
    });
    expect(answer.status).toBe(400);
    expect((await store.count()).pending).toBe(0);
  });
});

const source = anyPostgres();

describe.runIf(source !== undefined)('deferred on PostgreSQL', () => {
  const { database } = useServer(source as NonNullable<typeof source>);

  it('a phased operation is noted and pushed to its end by two workers, once', async () => {
    const db = await database();
    const pool = db.pool(10);
    await pool.query('CREATE TABLE log (line text)');
    const make = async () => {
      const samekey = createSamekey({
        store: await db.store(),
        transactions: fromPg<PoolClient>(pool),
      });
      const book = samekey.deferred(
        samekey.phased({
          name: 'book',
          run: async ({ n }: { n: number }, attempt) => {
            await attempt.phase('log', (tx) =>
              tx.query('INSERT INTO log VALUES ($1)', [`${n}`]).then(() => null),
            );
            return { n };
          },
        }),
      );
      return { samekey, book };
    };
    const [one, two] = await Promise.all([make(), make()]);
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => one.book.run({ scope: ['t'], key: `k-${n}`, input: { n } })),
    );
    for (let left = 20; left > 0; await pause(1)) {
      await Promise.all([one, two].map(({ samekey }) => pushDue(internalsOf(samekey), 7)));
      left = (await one.samekey.store.count()).pending;
    }
    const { rows } = await pool.query('SELECT count(*) AS n, count(DISTINCT line) AS lines FROM log');
    expect(rows).toEqual([{ n: '20', lines: '20' }]);
    expect(await two.book.run({ scope: ['t'], key: 'k-3', input: { n: 3 } })).toMatchObject({
      kind: 'replay',
      value: { n: 3 },
    });
  });
});
