/**
 * One process of the proof of background work: an API that runs what it is asked, a worker that delivers, pushes on, sweeps and reaps, or a
 * reconciler that asks the provider's books. It meets its fate at a probe point, and ends with whoever started it.
 */

import { createSamekey, reply, type SamekeyEvent, systemWorld } from 'samekey';
import { createJanitor } from 'samekey/janitor';
import {
  createReconciler,
  type ReconcileEvent,
  type ReconcileOperation,
  type Verdict,
} from 'samekey/reconcile';
import { createWorker, type WorkerEvent } from 'samekey/worker';
import { openBackgroundDatabase } from './background-database.ts';
import { defineOperations, handlersOf } from './background-operations.ts';
import {
  type AskMessage,
  type BackgroundOptions,
  type FromBackground,
  OPERATIONS,
  type OperationName,
  TIMES,
} from './background-protocol.ts';
import type { ProviderLedger } from './payment-provider.ts';

const options = JSON.parse(process.argv[2] ?? '{}') as BackgroundOptions;
const database = openBackgroundDatabase(options.store);
let points = 0;
process.once('disconnect', () => process.exit(0));

function say(message: FromBackground): Promise<void> {
  return new Promise((resolve) => void process.send?.(message, () => resolve()));
}

/** Every probe point of every part of the process counts. */
async function probe(): Promise<void> {
  points += 1;
  if (options.fate === null || points !== options.fate.atPoint) return;
  if (options.fate.what === 'die') process.kill(process.pid, 'SIGKILL');
  await say({ type: 'frozen' });
  process.kill(process.pid, 'SIGSTOP');
}

type Told = SamekeyEvent | WorkerEvent | ReconcileEvent;

function onEvent(event: Told): void {
  if (event.type !== 'contradiction') return;
  const { key } = 'record' in event ? event.record : event.id;
  void say({ type: 'event', name: event.type, key });
}

const samekey = createSamekey({
  store: database.store,
  transactions: database.transactions,
  policy: 'payments',
  claimTtlMs: TIMES.claimTtlMs,
  storeTimeMaxMs: TIMES.storeTimeMaxMs,
  reconcileAfterMs: 100,
  replayCacheBytesMax: 0,
  world: systemWorld(probe),
  onEvent,
});
const operations = defineOperations(samekey, database, options.providerPort);

if (options.role === 'api') process.on('message', (message: AskMessage) => void ask(message));
else if (options.role === 'worker') work();
else reconcile();
await say({ type: 'ready' });

async function ask({ id, operation, key, input }: AskMessage): Promise<void> {
  try {
    const outcome = await operations[operation].run({ scope: ['t'], key, input });
    await say({
      type: 'answer',
      id,
      kind: outcome.kind,
      state: 'state' in outcome ? outcome.state : null,
      value: 'value' in outcome ? outcome.value : null,
    });
  } catch {
    // Who could not reach the provider asks again.
    // Who could not reach the provider asks again.
    await say({ type: 'answer', id, kind: 'threw', state: null, value: null });
  }
}

function work(): void {
  createWorker({
    samekey,
    handlers: handlersOf(options.providerPort),
    concurrency: 4,
    leaseMs: TIMES.leaseMs,
    deliveriesMax: 5,
    backoff: { minMs: TIMES.pollMs, maxMs: 4 * TIMES.pollMs },
    pollMs: TIMES.pollMs,
    sweepMs: TIMES.pollMs,
    pushMs: TIMES.pollMs,
    probe,
    onEvent,
  }).start();
  createJanitor({ store: database.store }).start();
}

function reconcile(): void {
  createReconciler({
    samekey,
    operations: Object.fromEntries(OPERATIONS.map((name) => [name, inquiryOf(name)])),
    backoff: { minMs: TIMES.pollMs, maxMs: 8 * TIMES.pollMs },
    pollMs: TIMES.pollMs,
    inquiriesMax: 200,
    leaseMs: TIMES.leaseMs,
    inquiryTimeMaxMs: TIMES.leaseMs / 2,
    probe,
    onEvent,
  }).start();
}

/** Asks the provider's books. */
function inquiryOf(name: OperationName): ReconcileOperation {
  return {
    callTimeMaxMs: TIMES.callTimeMaxMs,
    downstreamKey: true,
    async inquire({ key }, { effect, signal }): Promise<Verdict> {
      const url = `http://127.0.0.1:${options.controlPort}/ledger?reference=${key}`;
      const { payments } = (await (await fetch(url, { signal })).json()) as ProviderLedger;
      const payment = payments.find(({ kind }) => kind === name);
      if (payment === undefined) return { kind: 'no-effect' };
      if (effect !== null) return { kind: 'took-effect', result: payment.id };
      return { kind: 'completed', answer: reply(201, { id: payment.id }) };
    },
  };
}
