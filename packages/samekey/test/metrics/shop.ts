/** A real Express application on a real SQLite file, with a worker: what is measured in these tests. */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express, { type Request } from 'express';
import { afterEach } from 'vitest';
import { idempotent, serve } from '../../src/adapters/express/index.ts';
import type { EventListener } from '../../src/engine/events.ts';
import { NotExecutedError } from '../../src/core/errors.ts';
import { reply } from '../../src/ways/reply.ts';
import { createOutbox, type Outbox } from '../../src/outbox/index.ts';
import { createSamekey } from '../../src/samekey.ts';
import { sqliteStore, type SqliteStore } from '../../src/stores/sqlite/index.ts';
import { type FaultyStore, faultyStore } from '../../../testing/src/faulty-store.ts';
import { fromSqlite } from '../../src/tx/sqlite/index.ts';
import { createWorker, type Worker, type WorkerEvent, type WorkerOptions } from '../../src/worker/index.ts';
import { availableClients, temporaryFile } from '../stores/sqlite-clients.ts';

const toEnd: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of toEnd.splice(0).toReversed()) await end();
});

/** What a request of a test says; never in a metric or a line of a log. */
export const SECRET_KEY = 'key-nobody-may-read';
export const SECRET_CALLER = 'caller-nobody-may-read';

/** Runs around the handling of a request. */
export type Around = (then: () => void) => void;

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface Shop {
  readonly store: SqliteStore;
  readonly faults: FaultyStore;
  readonly outbox: Outbox;
  /** Sends a request; `at` is which of two processes gets it: they have their own memory and share the store. */
  readonly send: (path: string, key: string | null, body: unknown, at?: 0 | 1) => Promise<Answer>;
  /** Lets the handlers of `/slow` answer. */
  readonly release: () => void;
  /** Resolves when a handler of `/slow` runs. */
  readonly running: () => Promise<void>;
  readonly worker: (options: Partial<WorkerOptions>) => Worker;
}

export async function openShop(
  onEvent: EventListener,
  onWorkerEvent: (event: WorkerEvent) => void,
  { around = (then) => then() }: { readonly around?: Around } = {},
): Promise<Shop> {
  const [client] = availableClients();
  if (client === undefined) throw new Error('No client of SQLite can be loaded: run npm install.');
  const file = temporaryFile();
  const database = client.open(file.path);
  const store = sqliteStore({ service: 'test', database });
  toEnd.push(() => {
    database.close();
    file.remove();
  });
  await store.migrate();
  const faults = faultyStore(store);
  const gate = createGate();
  // The worker's own: it pushes on what was accepted, and nothing stands between it and its store.
  const background = createSamekey({ store, onEvent });
  reportOf(background);
  const processes = await Promise.all(
    [0, 1].map(async () => {
      const samekey = createSamekey({ store: faults, onEvent, transactions: fromSqlite(store) });
      toEnd.push(() => samekey.close({ drainMs: 0 }));
      return { samekey, port: await listen(applicationOf(samekey, gate, around)) };
    }),
  );
  return {
    store,
    faults,
    outbox: createOutbox({ store }),
    async send(path, key, body, at = 0) {
      const answer = await fetch(`http://127.0.0.1:${processes[at]?.port}${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-caller': SECRET_CALLER,
          ...(key === null ? {} : { 'idempotency-key': key }),
        },
        body: JSON.stringify(body),
      });
      return { status: answer.status, body: await answer.text() };
    },
    release: gate.release,
    running: gate.running,
    worker(options) {
      const worker = createWorker({
        samekey: background,
        pushMs: 10,
        backoff: { minMs: 1, maxMs: 5 },
        pollMs: 10,
        ...options,
        onEvent: onWorkerEvent,
      });
      toEnd.push(() => worker.stop({ drainMs: 0 }));
      return worker;
    },
  };
}

const scope = (req: Request): string | undefined => req.get('x-caller');

function applicationOf(
  samekey: ReturnType<typeof createSamekey>,
  gate: Gate,
  around: Around,
): express.Express {
  const app = express();
  app.use((_req, _res, next) => around(next));
  // Says in its body what becomes of it.
  app.post(
    '/pay',
    idempotent(samekey, { policy: 'payments', scope, reconcileAfterMs: 0 }),
    express.json(),
    (req: Request<unknown, unknown, { readonly ends?: string }>, res) => {
      if (req.body.ends === 'throws') throw new NotExecutedError('the provider refused the connection');
      res.status(req.body.ends === 'unknown' ? 500 : 201).json({ paid: true });
    },
  );
  app.post('/slow', idempotent(samekey, { policy: 'standard', scope }), (_req, res) =>
    gate.pass(() => res.status(201).json({})),
  );
  app.post(
    '/hung',
    idempotent(samekey, { policy: 'standard', scope, attemptTimeMaxMs: 50, claimTtlMs: 2_000 }),
    (_req, res) => gate.pass(() => res.status(201).json({})),
  );
  app.post('/report', serve(reportOf(samekey), { scope }));
  app.use(((_error, _req, res, _next) => void res.status(500).end()) as express.ErrorRequestHandler);
  return app;
}

function reportOf(samekey: Pick<ReturnType<typeof createSamekey>, 'plain' | 'deferred'>) {
  return samekey.deferred(
    samekey.plain({
      name: 'report',
      policy: 'payments',
      run: async (input: { readonly month: number }) => {
        if (input.month === 13) throw new Error('there is no such month');
        return reply(200, input);
      },
    }),
  );
}

async function listen(app: express.Express): Promise<number> {
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  toEnd.push(async () => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

interface Gate {
  readonly pass: (then: () => void) => void;
  readonly release: () => void;
  readonly running: () => Promise<void>;
}

function createGate(): Gate {
  const held: (() => void)[] = [];
  const waiting: (() => void)[] = [];
  return {
    pass(then) {
      held.push(then);
      for (const tell of waiting.splice(0)) tell();
    },
    release() {
      for (const then of held.splice(0)) then();
    },
    running: () => (held.length > 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}
