/** How outcomes that nobody knows are found out: the books of the provider, asked over a line that fails too. */

import { reply } from 'samekey/internals/ways/reply';
import type { SamekeyRecord } from 'samekey/internals/core/record';
import type { ReconcileOperation, Verdict } from 'samekey/internals/reconcile/index';
import type { FakeWorld } from '../fake-world.ts';
import { paymentOf, shipmentOf, type WorkersContext } from './context.ts';
import { CALL_MAX_MS } from './scenario.ts';

/** By operation. */
export function inquiriesOf(
  context: WorkersContext,
  world: FakeWorld,
): Readonly<Record<string, ReconcileOperation>> {
  const ask = async (record: SamekeyRecord): Promise<Verdict> => {
    const found = await context.provider.find(world, whatOf(record), CALL_MAX_MS);
    if (found !== null) return tookPlace(record.operation, found.charge);
    // A shipment may still be delivered: its message has a key of its own, which the next attempt has not.
    return record.operation === 'pay' ? { kind: 'no-effect' } : { kind: 'not-known' };
  };
  return {
    pay: { inquire: ask, callTimeMaxMs: CALL_MAX_MS },
    order: { inquire: ask, callTimeMaxMs: CALL_MAX_MS },
  };
}

/** What of a record there should be one. */
export function whatOf({ operation, key, attempt }: SamekeyRecord): string {
  return operation === 'pay' ? paymentOf(key) : shipmentOf(key, attempt);
}

/** That it did take place. */
export function tookPlace(
  operation: string,
  charge: number,
): Exclude<Verdict, { readonly kind: 'not-known' }> {
  return operation === 'pay'
    ? { kind: 'took-effect', result: { charge } }
    : { kind: 'completed', answer: reply(201, { charge }) };
}
