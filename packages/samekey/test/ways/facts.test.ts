/**
 * What a record holds, met over HTTP by the real ways with real transactions: a phased operation has charged and committed, and then its route is
 * served by code that does not know that (F109). Every combination of way, fact and code is in the engine contract.
 */

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterEach, describe, expect, it } from 'vitest';
import { idempotent, serve } from '../../src/adapters/express/index.ts';
import { createSamekey, type Operation, reply, type Samekey, singleTenant } from '../../src/index.ts';
import { internalsOf } from '../../src/samekey.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { fromSqlite } from '../../src/tx/sqlite/index.ts';
import { pushDue } from '../../src/ways/completer.ts';
import { availableClients, type OpenDatabase, temporaryFile } from '../stores/sqlite-clients.ts';

interface Pay {
  readonly amount: number;
}

const breaks = (): never => {
  throw new Error('the process is taken away');
};

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A database of one client, and processes on it. */
async function installation() {
  const [client] = availableClients();
  if (client === undefined) throw new Error('no SQLite client');
  const file = temporaryFile();
  const database = client.open(file.path);
  database.exec('CREATE TABLE bookings (id INTEGER PRIMARY KEY, amount INTEGER)');
  const store = sqliteStore({ service: 'test', database });
  await store.migrate();
  closing.push(
    () => file.remove(),
    () => database.close(),
  );
  return {
    store,
    bookings: () => database.prepare('SELECT amount FROM bookings').all().length,
    process: (): Samekey<OpenDatabase> =>
      createSamekey<OpenDatabase>({ store, transactions: fromSqlite(store) as never }),
  };
}

async function post(app: express.Express): Promise<number> {
  const server = await new Promise<Server>((resolve) => {
    const listening = app.listen(0, '127.0.0.1', () => resolve(listening));
  });
  try {
    const { port } = server.address() as AddressInfo;
    const headers = { 'Idempotency-Key': '"key-1"', 'Content-Type': 'application/json' };
    const answer = await fetch(`http://127.0.0.1:${port}/pay`, {
      method: 'POST',
      headers,
      body: '{"amount":5}',
    });
    await answer.text();
    return answer.status;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function served(operation: Operation<Pay, unknown>): express.Express {
  const app = express();
  app.post('/pay', serve(operation, { scope: singleTenant() }));
  return app;
}

describe('facts beat code, over HTTP', () => {
  it('a phased operation that has booked and charged is run by no other way, and is finished by its own', async () => {
    const { store, bookings, process } = await installation();
    const ran: string[] = [];
    const phased = (samekey: Samekey<OpenDatabase>, last: () => void): Operation<Pay, unknown> =>
      samekey.phased({
        name: 'pay',
        run: async ({ amount }: Pay, attempt) => {
          await attempt.phase('book', (tx) => {
            tx.prepare('INSERT INTO bookings (amount) VALUES (?)').run(amount);
            return null;
          });
          await attempt.effect('charge', () => void ran.push('charge'), {
            rule: 'downstreamKey',
            retentionMs: 86_400_000,
          });
          last();
          return reply(201, { paid: amount });
        },
      });
    const failing = served(phased(process(), breaks));
    failing.use(
      ((_error, _req, res, _next) => void res.status(500).end()) satisfies express.ErrorRequestHandler,
    );
    expect(await post(failing)).toBeGreaterThanOrEqual(409);
    expect([bookings(), ran]).toEqual([1, ['charge']]);

    const run = (way: string) => (): unknown => {
      ran.push(way);
      return reply(201, { way });
    };
    const middleware = express();
    middleware.post(
      '/pay',
      idempotent(process(), { policy: 'standard', scope: singleTenant(), operation: 'pay' }),
      (_req, res) => {
        ran.push('middleware');
        res.status(201).json({});
      },
    );
    const one = process();
    const two = process();
    const three = process();
    const newer = {
      plain: served(one.plain({ name: 'pay', policy: 'standard', run: run('plain') })),
      transactional: served(two.transactional({ name: 'pay', run: run('transactional') })),
      deferred: served(
        three.deferred<Pay, unknown>(three.transactional({ name: 'pay', run: run('deferred') })),
      ),
      middleware,
    };
    for (const [way, app] of Object.entries(newer)) {
      expect([way, await post(app), await post(app)]).toEqual([way, 409, 409]);
      expect(await pushDue(internalsOf(three), 10)).toHaveLength(way === 'plain' ? 1 : 0);
    }
    expect(await store.count()).toMatchObject({ unknown: 1, in_progress: 0, failed: 0 });
    expect([bookings(), ran]).toEqual([1, ['charge']]);

    expect(await post(served(phased(process(), () => undefined)))).toBe(201);
    for (const app of Object.values(newer)) expect(await post(app)).toBe(201);
    expect([bookings(), ran]).toEqual([1, ['charge']]);
  });
});
