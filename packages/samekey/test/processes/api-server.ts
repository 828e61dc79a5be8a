/**
 * A payments-like API in a process of its own: Express 5 on a store that other processes share. Each execution of its
 * handler is written to a separate ledger before it answers. Its parent can catch it at any probe point (`api-traps.ts`), lose
 * replies of its store, and stop it in order with SIGTERM. Run with options as JSON (`ApiOptions`); it tells its port by IPC.
 */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import express, { type Request, type Response } from 'express';
import { createSamekey, type SamekeyEvent, type Store, StoreError, systemWorld } from 'samekey';
import { attemptOf, idempotent } from 'samekey/express';
import { openLedger } from './api-ledger.ts';
import { type ApiOptions, type FromApi, ROUTES, type ToApi } from './api-protocol.ts';
import { createTraps } from './api-traps.ts';
import { openStore } from './backends/index.ts';

/** Events that say that a record has moved on without its owner, or that a claim was given up. */
const TOLD: readonly SamekeyEvent['type'][] = [
  'claim-abandoned',
  'claim-released',
  'contradiction',
  'fence-lost',
  'save-delayed',
];

const options = JSON.parse(process.argv[2] ?? '{}') as ApiOptions;
const ledger = openLedger(options.ledgerPath);
const traps = createTraps(ledger, tell);
const lost = { claim: 0, finish: 0 };
const opened = await openStore(options.store);
await opened.store.migrate();

const samekey = createSamekey({
  store: losingReplies(opened.store),
  claimTtlMs: options.claimTtlMs,
  ...(options.storeTimeMaxMs === undefined ? {} : { storeTimeMaxMs: options.storeTimeMaxMs }),
  world: systemWorld((point, id) => traps.at(point, id.key)),
  onEvent(event) {
    if (TOLD.includes(event.type)) {
      void tell({ type: 'event', name: event.type, key: 'id' in event ? (event.id?.key ?? null) : null });
    }
  },
});
await samekey.ready();

const app = express();
for (const path of ROUTES) {
  const [, way, patience] = path.split('/');
  app.post(
    path,
    idempotent(samekey, {
      // Stands for what an authentication before it would have found.
      scope: (req) => req.get('x-tenant'),
      policy: options.policy ?? (way === 'resume' ? 'standard' : 'payments'),
      whenClaimEnds: way === 'resume' ? 'resume' : 'unknown',
      waitMaxMs: patience === 'wait' ? (options.waitMaxMs ?? 10_000) : 0,
    }),
    express.json(),
    order,
  );
}

const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
process.on('message', obey);
process.once('SIGTERM', () => void stop());
// Nobody is left to be served.
process.once('disconnect', () => process.exit(0));
await tell({ type: 'ready', port: (server.address() as AddressInfo).port });

/** `{ amount, workMs }`: writes the execution down, works for a while, answers. */
async function order(req: Request, res: Response): Promise<void> {
  const attempt = attemptOf(req);
  if (attempt === null) throw new Error('the route is protected');
  const { amount, workMs } = req.body as { amount: number; workMs: number };
  const [tenant, key, effect] = [req.get('x-tenant') ?? '', attempt.key, randomUUID()];
  ledger.append({ kind: 'execution', tenant, key, attempt: attempt.number, pid: process.pid, effect });
  await traps.at('handler.effect', key);
  if (workMs > 0) await sleep(workMs);
  res.status(201).location(`/orders/${effect}`).set('x-effect', effect);
  res.json({ effect, tenant, key, attempt: attempt.number, pid: process.pid, amount });
}

function obey(message: ToApi): void {
  if (message.type === 'arm') traps.arm(message.id, message.trap);
  else if (message.type === 'disarm') traps.disarm();
  else if (message.type === 'go') traps.go(message.id);
  else lost[message.verb] = message.count;
  void tell({ type: 'done' });
}

/** No new connections, no new claims; what runs ends and is answered; then the process ends by itself. */
async function stop(): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  const left = await samekey.close({ drainMs: options.drainMs ?? 10_000 });
  await closed;
  await opened.close();
  ledger.close();
  await tell({ type: 'closed', left });
  process.exit(left === 0 ? 0 : 1);
}

/** The same store, but replies of writes that were applied can get lost on the way (F15). */
function losingReplies(inner: Store): Store {
  return {
    ...inner,
    claim: (requests) => arrive('claim', inner.claim(requests)),
    finish: (requests) => arrive('finish', inner.finish(requests)),
  };
}

async function arrive<Result>(verb: 'claim' | 'finish', reply: Promise<Result>): Promise<Result> {
  const arrived = await reply;
  if (lost[verb] === 0) return arrived;
  lost[verb] -= 1;
  throw new StoreError('The reply was lost.', { applied: 'unknown' });
}

function tell(message: FromApi): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) {
      process.stdout.write(`${JSON.stringify(message)}\n`);
      resolve();
    } else {
      process.send(message, undefined, {}, () => resolve());
    }
  });
}
