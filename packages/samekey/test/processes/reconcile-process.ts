/**
 * One process of the proof of reconciliation on PostgreSQL: a payer, that pays when it is told to and meets its fate at the call, or a
 * reconciler, that asks the provider's books. It ends with whoever started it.
 */

import { appendFileSync } from 'node:fs';
import { Pool } from 'pg';
import { createSamekey, reply } from 'samekey';
import { createReconciler, type ReconcileOperation, type Verdict } from 'samekey/reconcile';
import { postgresStore } from 'samekey/stores/postgres';
import type { ProviderLedger } from './payment-provider.ts';
import {
  type FromReconcileProcess,
  type LoggedInquiry,
  PAY_KINDS,
  type PayKind,
  type PayMessage,
  type ReconcileProcessOptions,
  TIMES,
} from './reconcile-protocol.ts';

const options = JSON.parse(process.argv[2] ?? '{}') as ReconcileProcessOptions;
const pool = new Pool({ connectionString: options.databaseUrl, max: 4 });
pool.on('error', () => undefined);
const store = postgresStore({ service: 'test', pool });
const KINDS = Object.keys(PAY_KINDS) as readonly PayKind[];
process.once('disconnect', () => process.exit(0));

function say(message: FromReconcileProcess): Promise<void> {
  return new Promise((resolve) => void process.send?.(message, () => resolve()));
}

if (options.role === 'payer') startPayer();
else startReconciler();
await say({ type: 'ready' });

function startPayer(): void {
  const samekey = createSamekey({
    store,
    policy: 'payments',
    claimTtlMs: TIMES.claimTtlMs,
    reconcileAfterMs: 100,
    replayCacheBytesMax: 0,
  });
  const orders = new Map(
    KINDS.filter((kind) => PAY_KINDS[kind].phased).map((kind) => [
      kind,
      samekey.phased({
        name: kind,
        run: async ({ message }: { readonly message: PayMessage }, attempt) => {
          const { keyed } = PAY_KINDS[kind];
          const id = await attempt.effect(
            'charge',
            ({ downstreamKey }) => pay(message, keyed ? downstreamKey : null),
            { rule: 'reconcile', callTimeMaxMs: TIMES.callTimeoutMs + 100 },
          );
          return reply(201, { id });
        },
      }),
    ]),
  );
  process.on('message', (message: PayMessage) => {
    const { id, key, kind } = message;
    const order = orders.get(kind);
    const run =
      order === undefined
        ? samekey.run({ operation: kind, scope: ['t'], key, fingerprint: key }, async () =>
            reply(201, { id: await pay(message, PAY_KINDS[kind].keyed ? key : null) }),
          )
        : order.run({ scope: ['t'], key, fingerprint: key, input: { message } });
    void run.then(
      (outcome) =>
        say({ type: 'answer', id, kind: outcome.kind, value: 'value' in outcome ? outcome.value : null }),
      () => say({ type: 'answer', id, kind: 'threw', value: null }),
    );
  });
}

async function pay({ id, key, kind, fate }: PayMessage, idempotencyKey: string | null): Promise<string> {
  if (fate === 'die-before') process.kill(process.pid, 'SIGKILL');
  if (fate === 'freeze-before') {
    await say({ type: 'frozen', id });
    process.kill(process.pid, 'SIGSTOP');
  }
  const response = await fetch(`http://127.0.0.1:${options.providerPort}/payments`, {
    method: 'POST',
    headers: idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey },
    body: JSON.stringify({ kind, reference: key, amount: 5 }),
    signal: AbortSignal.timeout(TIMES.callTimeoutMs),
  });
  if (fate === 'die-after') process.kill(process.pid, 'SIGKILL');
  if (response.status !== 201) throw new Error(`The provider answered ${response.status}.`);
  return ((await response.json()) as { readonly id: string }).id;
}

function startReconciler(): void {
  createReconciler({
    store,
    operations: Object.fromEntries(KINDS.map((kind) => [kind, operationOf(kind)])),
    backoff: { minMs: 100, maxMs: 800 },
    pollMs: 100,
    inquiriesMax: TIMES.inquiriesMax,
    leaseMs: TIMES.leaseMs,
    inquiryTimeMaxMs: TIMES.inquiryTimeMaxMs,
  }).start();
}

/** Asks the provider's books, and notes that it did. */
function operationOf(kind: PayKind): ReconcileOperation {
  return {
    callTimeMaxMs: TIMES.callTimeMaxMs,
    downstreamKey: PAY_KINDS[kind].keyed,
    async inquire({ key, claimId, lockedUntil }, { inquiry, signal }): Promise<Verdict> {
      const line: LoggedInquiry = { by: options.name, key, unknown: `${claimId} ${lockedUntil}`, inquiry };
      appendFileSync(options.log, `${JSON.stringify(line)}\n`);
      const url = `http://127.0.0.1:${options.controlPort}/ledger?reference=${key}`;
      const { payments } = (await (await fetch(url, { signal })).json()) as ProviderLedger;
      const [payment] = payments;
      if (payment === undefined) return { kind: 'no-effect' };
      const { id } = payment;
      return PAY_KINDS[kind].phased
        ? { kind: 'took-effect', result: id }
        : { kind: 'completed', answer: reply(201, { id }) };
    },
  };
}
