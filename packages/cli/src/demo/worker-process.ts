/**
 * The shop's worker, a process of its own that may be killed at any line: it delivers the orders' messages, and pushes
 * on the payments that their client or their process has left. Started with SAMEKEY_WORKER; ends cleanly when its
 * parent lets go of it.
 */

import { createWorker } from 'samekey/worker';
import { CHARGE_TOPIC, chargeOrder } from './place-order.ts';
import { sayCall } from './narration.ts';
import { openShop } from './shop.ts';
import type { WorkerSettings } from './process-settings.ts';

const { dir, providerOrigin, payment, quiet } = JSON.parse(
  process.env['SAMEKEY_WORKER'] ?? '{}',
) as WorkerSettings;
const shop = await openShop({
  dir,
  providerOrigin,
  payment,
  onCall: (call) => (quiet ? undefined : sayCall(call)),
});
const worker = createWorker({
  samekey: shop.samekey,
  handlers: { [CHARGE_TOPIC]: chargeOrder(shop.store, shop.ledger, shop.provider, payment) },
  leaseMs: payment.claimTtlMs,
  sweepMs: 500,
  pollMs: 200,
  // A provider that fails is asked again soon, and often: this is a demo.
  backoff: { minMs: 100, maxMs: 1_000 },
  deliveriesMax: 1_000,
});
worker.start();
await worker.ready();
// Ctrl-C reaches every process of a terminal: the shop ends first.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('disconnect', () => void stop());
process.send?.({ origin: '' });

async function stop(): Promise<void> {
  await worker.stop();
  await shop.samekey.close();
  shop.closeFile();
  process.exit(0);
}
