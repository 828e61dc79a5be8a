/**
 * The order, as a transactional operation that is handed over: order, payment row and the message to the worker are
 * committed in one transaction, and the client is answered 202. The worker has the provider charge, books, and its
 * answer is the request's.
 */

import { type Operation, reply, type Samekey } from 'samekey';
import type { SqliteDatabase, SqliteStore } from 'samekey/stores/sqlite';
import type { MessageHandler } from 'samekey/worker';
import type { Fault } from './faults.ts';
import type { Ledger, Payment } from './ledger.ts';
import { readOrder } from './order.ts';
import type { PaymentInput, PaymentSettings } from './pay.ts';
import { JSON_TYPE, PROBLEM_TYPE, problemOf } from './api-answers.ts';
import type { Provider } from './provider.ts';

/** The topic of its messages. */
export const CHARGE_TOPIC = 'charge';

interface ChargeMessage {
  readonly payment: Payment;
  readonly fault: Fault | null;
}

/** Defines it. */
export function defineOrder(
  samekey: Samekey<SqliteDatabase>,
  ledger: Ledger,
  { claimTtlMs }: PaymentSettings,
): Operation<PaymentInput, unknown> {
  return samekey.transactional({
    name: 'place-order',
    claimTtlMs,
    waitMaxMs: claimTtlMs,
    attemptMax: 100,
    run: async ({ tenant, body }: PaymentInput, attempt) => {
      const read = readOrder(body);
      if ('wrong' in read) {
        // Nothing happened yet: the client may correct its request and send it under the same key.
        attempt.notExecuted({ correctable: true });
        return reply(400, problemOf(400, 'This order cannot be placed', read.wrong), [PROBLEM_TYPE]);
      }
      const payment = ledger.open(tenant, { operation: attempt.operation, intent: attempt.key }, read.order);
      const message: ChargeMessage = { payment, fault: read.fault };
      await attempt.handOver({ topic: CHARGE_TOPIC, payload: message });
      return reply(202, payment, [
        JSON_TYPE,
        ['Location', `/orders/status/${encodeURIComponent(attempt.key)}`],
        ['Retry-After', '1'],
      ]);
    },
  });
}

/** What the worker does with its messages. Delivered more than once if it must be, so it asks before it calls again. */
export function chargeOrder(
  store: SqliteStore,
  ledger: Ledger,
  provider: Provider,
  { callTimeMaxMs, unprotected = false }: PaymentSettings,
): MessageHandler<ChargeMessage> {
  return async ({ payload: { payment, fault } }, delivery) => {
    const { id: reference, amountCents, currency } = payment;
    const signal = AbortSignal.any([delivery.signal, AbortSignal.timeout(callTimeMaxMs)]);
    const repeated = delivery.mayHaveRunBefore;
    const found = repeated && !unprotected ? await provider.find(reference, signal) : null;
    const charge =
      found ??
      (await provider.charge(
        { reference, amountCents, currency },
        {
          key: unprotected ? `${delivery.downstreamKey}-${delivery.number}` : delivery.downstreamKey,
          signal,
          fault: repeated ? null : fault,
        },
      ));
    await store.transaction(() => ledger.book(reference, charge.id));
    return reply(201, { ...payment, chargeId: charge.id }, [
      JSON_TYPE,
      ['Location', `/payments/${reference}`],
    ]);
  };
}
