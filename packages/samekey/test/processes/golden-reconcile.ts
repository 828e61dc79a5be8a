/**
 * The reconciler's part of a golden round under the rule `reconcile`: it asks the provider once nothing can be under way any more. "No
 * such payment" lets the key run again, and its effect is called; a payment that was made is told as the answer.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { checkAtMostOnce, paymentsOf } from './golden-checks.ts';
import { askForGood, type Payer, recordOf, sendPay, steadily } from './golden-client.ts';
import { GOLDEN_TIMES, type Golden } from './golden-cluster.ts';
import { EFFECTS } from './golden-operation.ts';

/** A call and a charge that is late: as `ProviderFaults`, and some more. */
const UNDER_WAY_MS = GOLDEN_TIMES.callTimeMaxMs + 300;
const MEANWHILE = new Set(['lost', 'in-progress', 'store-unavailable', '500']);

/** Settles what is unknown until every key is answered; resolves with those that were settled as completed. */
export async function reconcileUnknown(
  golden: Golden,
  payers: readonly Payer[],
  prefix: string,
  fail: (what: string) => void,
): Promise<ReadonlySet<Payer>> {
  const settled = new Set<Payer>();
  await golden.provider.setFaults({});
  await Promise.all(golden.workers.map((worker) => worker.work(true)));
  for (const payer of payers) {
    for (let turn = 0; turn < 3 && !settled.has(payer); turn += 1) {
      const record = await steadily(() => recordOf(golden, payer.key));
      if (record?.state === 'completed') break;
      if (record?.state === 'unknown') {
        await sleep(UNDER_WAY_MS);
        if (await settle(golden, payer, prefix, fail)) settled.add(payer);
      }
      const [first] = golden.apis;
      if (first === undefined || settled.has(payer)) break;
      const how = {
        first,
        isSilent: false,
        meanwhile: MEANWHILE,
        until: 'outcome-unknown',
        random: Math.random,
      };
      const fault = await askForGood(golden, payer, how);
      if (fault !== null) fail(`${payer.key}, reconciled, ${fault}`);
    }
  }
  const ledger = await golden.provider.ledger(prefix);
  for (const payer of settled) {
    checkAtMostOnce(ledger, payer, (what) => fail(`${payer.key}: ${what}`));
    for (const { port } of golden.apis) {
      const word = await sendPay(port, payer);
      const told = word.kind === 'answer' && word.status === 201 && word.body.includes('settled');
      if (!told) fail(`${payer.key}: settled, and answered ${JSON.stringify(word)}`);
    }
  }
  return settled;
}

/** True: it was paid, and is completed. False: it was not, and may run again. */
async function settle(
  golden: Golden,
  payer: Payer,
  prefix: string,
  fail: (what: string) => void,
): Promise<boolean> {
  const records = await steadily(() => golden.store.list({ states: ['unknown'], limit: 100 }));
  const record = records.find(({ key }) => key === payer.key);
  if (record === undefined) return false;
  const ledger = await golden.provider.ledger(prefix);
  // The last step is the effect that nobody knows of.
  const { steps } = JSON.parse(record.steps ?? '{"steps":[]}') as { steps: readonly { name: string }[] };
  const kind = steps.at(-1)?.name ?? '';
  if (!EFFECTS.some((effect) => effect === kind))
    fail(`${payer.key} is unknown after ${kind}: ${record.reason}`);
  const isPaid = paymentsOf(ledger, payer.key, kind).length > 0;
  const { scope, key, claimId, attempt } = record;
  const body = new TextEncoder().encode(JSON.stringify({ settled: payer.key }));
  const request = {
    scope,
    key,
    claimId,
    attempt,
    to: isPaid ? 'completed' : 'retryable',
    reason: 'asked the provider',
    actor: null,
    response: isPaid ? { status: 201, headers: [['Content-Type', 'application/json'] as const], body } : null,
  } as const;
  const [result] = await steadily(() => golden.store.settle([request]));
  if (result?.kind !== 'applied' && result?.kind !== 'already')
    fail(`${payer.key} could not be settled: ${JSON.stringify(result)}`);
  return isPaid;
}
