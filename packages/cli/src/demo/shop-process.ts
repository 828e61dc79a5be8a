/**
 * The shop as a process of its own, its API alone, so that chaos can kill it at any line. Started with SAMEKEY_SHOP = {
 * dir, port, providerOrigin, payment }; sends its origin to its parent; ends cleanly when its parent lets go of it.
 */

import { explain } from '../cli-error.ts';
import { startApi } from './start.ts';
import type { ShopSettings } from './process-settings.ts';

const { dir, port, providerOrigin, payment } = JSON.parse(
  process.env['SAMEKEY_SHOP'] ?? '{}',
) as ShopSettings;
const shop = await startApi({
  dir,
  port: { number: port, asked: true },
  providerOrigin,
  payment,
  tries: () => [],
  explainer: null,
  onRequest: () => undefined,
  onCall: () => undefined,
  onError(error) {
    // Of a handler that lets the provider's faults through there would be many.
    if (payment.unprotected !== true) process.stderr.write(`${explain(error)}\n`);
  },
});
process.on('SIGINT', () => undefined);
process.on('disconnect', () => {
  void shop.stop().then(() => process.exit(0));
});
process.send?.({ origin: shop.origin });
