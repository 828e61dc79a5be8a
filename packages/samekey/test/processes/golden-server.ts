/**
 * A process of the golden path: an API (Express, `serve`, PostgreSQL by fromPg) or a worker that pushes on what was left. Its
 * parent can catch it at any probe point. Run with `GoldenOptions` as JSON; it tells its port by IPC, a worker tells 0.
 */

import { once } from 'node:events';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import express from 'express';
import { Pool, type PoolClient } from 'pg';
import { createSamekey, type Samekey, type SamekeyEvent, systemWorld } from 'samekey';
import { serve } from 'samekey/express';
import { postgresStore } from 'samekey/stores/postgres';
import { fromPg } from 'samekey/tx/pg';
import { createTraps } from './api-traps.ts';
import { definePay } from './golden-operation.ts';
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

const pool = new Pool({ connectionString: options.databaseUrl, max: 6 });
// A connection that waits in the pool ends with its server.
pool.on('error', () => undefined);
const store = postgresStore({ pool });
const samekey: Samekey<PoolClient> = createSamekey({
  store,
  transactions: fromPg<PoolClient>(pool, { isolation: options.isolation }),
  world: systemWorld((point, id) => traps.at(point, id.key)),
  onEvent(event) {
    if (!TOLD.includes(event.type)) return;
    void tell({ type: 'event', name: event.type, key: 'id' in event ? (event.id?.key ?? null) : null });
  },
});
/** A worker's, when there is nothing to do: short against a claim. */
const PAUSE_MS = 30;
const operations = RULES.map((rule) => ({ rule, operation: definePay(samekey, options, rule) }));
const state = { isWorking: true, isClosing: false };

process.on('message', obey);
process.once('SIGTERM', () => void stop());
process.once('disconnect', () => process.exit(0));
if (options.role === 'worker') {
  await tell({ type: 'ready', port: 0 });
  await work();
} else {
  const app = express();
  for (const { rule, operation } of operations) {
    app.post(`/pay/${rule}`, serve(operation, { scope: (req) => [String(req.get('x-tenant'))] }));
  }
  // Who could not reach the provider is told so; it is not worth a line on the console.
  app.use(((_error, _req, res, _next) => void res.status(500).end()) satisfies express.ErrorRequestHandler);
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.once('SIGTERM', () => void server.close());
  await tell({ type: 'ready', port: (server.address() as AddressInfo).port });
}

/** Ends claims that are over and pushes on what was left, until the process ends. */
async function work(): Promise<void> {
  const { ways, instance } = await completer();
  while (!state.isClosing) {
    try {
      if (state.isWorking) await store.sweep(100);
      const pushed = state.isWorking ? await ways.pushDue(instance.internalsOf(samekey), 20) : [];
      if (pushed.length === 0) await sleep(PAUSE_MS);
    } catch {
      // The database is away.
      await sleep(PAUSE_MS);
    }
  }
}

/** Not an entry of the package. */
async function completer(): Promise<{
  readonly ways: { pushDue(internals: unknown, limit: number): Promise<readonly unknown[]> };
  readonly instance: { internalsOf(samekey: Samekey<never>): unknown };
}> {
  const entry = pathToFileURL(createRequire(import.meta.url).resolve('samekey')).href;
  return {
    ways: await import(new URL('./ways/completer.js', entry).href),
    instance: await import(new URL('./samekey.js', entry).href),
  };
}

function obey(message: ToGolden): void {
  if (message.type === 'arm') traps.arm(message.id, message.trap);
  else if (message.type === 'disarm') traps.disarm();
  else if (message.type === 'go') traps.go(message.id);
  else state.isWorking = message.on;
  void tell({ type: 'done' });
}

async function stop(): Promise<void> {
  state.isClosing = true;
  const left = await samekey.close({ drainMs: 10_000 });
  await pool.end();
  await tell({ type: 'closed', left });
  process.exit(left === 0 ? 0 : 1);
}

function tell(message: FromGolden): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) resolve();
    else process.send(message, undefined, {}, () => resolve());
  });
}
