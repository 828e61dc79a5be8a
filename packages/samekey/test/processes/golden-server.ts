/**
 * A process of the golden path: an API (Express, `serve`, PostgreSQL by fromPg or MySQL by fromMysql2) or a worker that pushes on what was left. Its
 * parent can catch it at any probe point. Run with `GoldenOptions` as JSON; it tells its port by IPC, a worker tells 0.
 */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { createSamekey, type Samekey, type SamekeyEvent, systemWorld } from 'samekey';
import { serve } from 'samekey/express';
import { createWorker, type Worker } from 'samekey/worker';
import { createTraps } from './api-traps.ts';
import { type GoldenTx, openGoldenDatabase } from './golden-database.ts';
import { defineOrder, definePay } from './golden-operation.ts';
import { type FromGolden, type GoldenOptions, RULES, type ToGolden } from './golden-protocol.ts';

/** Told to the parent; the last only where nobody was frozen and no store was away. */
const TOLD: readonly SamekeyEvent['type'][] = [
  'commit-unclear',
  'contradiction',
  'fence-lost',
  'save-delayed',
];

const options = JSON.parse(process.argv[2] ?? '{}') as GoldenOptions;
// Who dies here is seen to be dead; nothing needs to be written down.
const traps = createTraps({ append: () => undefined, close: () => undefined }, tell);

const database = openGoldenDatabase(options.databaseUrl, 6);
const samekey: Samekey<GoldenTx> = createSamekey({
  store: database.store,
  transactions: database.transactions(options.isolation),
  world: systemWorld((point, id) => traps.at(point, id.key)),
  onEvent(event) {
    if (!TOLD.includes(event.type)) return;
    void tell({ type: 'event', name: event.type, key: 'id' in event ? (event.id?.key ?? null) : null });
  },
});
/** A worker's, when there is nothing to do: short against a claim. */
const PAUSE_MS = 30;
const operations = RULES.map((rule) => ({ rule, operation: definePay(samekey, database, options, rule) }));
let worker: Worker | null = null;

process.on('message', obey);
process.once('SIGTERM', () => void stop());
process.once('disconnect', () => process.exit(0));
if (options.role === 'worker') {
  await work(true);
  await tell({ type: 'ready', port: 0 });
} else {
  const app = express();
  for (const { rule, operation } of operations) {
    app.post(`/pay/${rule}`, serve(operation, { scope: (req) => req.get('x-tenant') }));
  }
  const order = defineOrder(samekey, database, options);
  app.post('/pay/order', serve(order, { scope: (req) => req.get('x-tenant') }));
  // Who could not reach the provider is told so; it is not worth a line on the console.
  app.use(((_error, _req, res, _next) => void res.status(500).end()) satisfies express.ErrorRequestHandler);
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.once('SIGTERM', () => void server.close());
  await tell({ type: 'ready', port: (server.address() as AddressInfo).port });
}

/** A worker that is told to rest is stopped; it comes back as another one. */
async function work(on: boolean): Promise<void> {
  if (on === (worker !== null)) return;
  const before = worker;
  worker = null;
  await before?.stop();
  if (!on || options.role === 'api') return;
  worker = createWorker({
    samekey,
    sweepMs: PAUSE_MS,
    pushMs: PAUSE_MS,
    backoff: { minMs: PAUSE_MS, maxMs: 10 * PAUSE_MS },
  });
  worker.start();
  await worker.ready();
}

function obey(message: ToGolden): void {
  if (message.type === 'arm') traps.arm(message.id, message.trap);
  else if (message.type === 'disarm') traps.disarm();
  else if (message.type === 'go') traps.go(message.id);
  void (message.type === 'work' ? work(message.on) : Promise.resolve()).then(() => tell({ type: 'done' }));
}

async function stop(): Promise<void> {
  const resting = work(false);
  const left = await samekey.close({ drainMs: 10_000 });
  await resting;
  await database.close();
  await tell({ type: 'closed', left });
  process.exit(left === 0 ? 0 : 1);
}

function tell(message: FromGolden): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) resolve();
    else process.send(message, undefined, {}, () => resolve());
  });
}
