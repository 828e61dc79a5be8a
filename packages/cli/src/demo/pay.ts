/**
 * The payment, as a phased operation: order and payment row in one transaction with its recovery point, the provider's
 * charge as an effect, the booking in another transaction. Whoever runs it after a crash goes on where it stopped.
 */

import { randomUUID } from 'node:crypto';
import { errorCode, type Operation, reply, type Samekey } from 'samekey';
import type { SqliteDatabase } from 'samekey/stores/sqlite';
import type { Ledger } from './ledger.ts';
import { readOrder } from './order.ts';
import { JSON_TYPE, PROBLEM_TYPE, problemOf } from './api-answers.ts';
import type { Provider } from './provider.ts';
import type { Charge } from './provider-books.ts';

/** What it needs. */
export interface PaymentInput {
  readonly tenant: string;
  /** What the client sent. */
  readonly body: unknown;
}

/** How it is made. Times in milliseconds. */
export interface PaymentSettings {
  /** Without an effect, and with another key for the provider each time: what happens to those who call it just so. */
  readonly unprotected?: boolean;
  readonly claimTtlMs: number;
  readonly callTimeMaxMs: number;
}

/** The second click of a double click waits for the first one's answer: longer than the provider usually takes. */
const WAIT_MAX_MS = 5_000;
/** Under chaos an attempt may be killed or end without an answer many times. */
const ATTEMPT_MAX = 100;

/** Defines it. */
export function definePayment(
  samekey: Samekey<SqliteDatabase>,
  ledger: Ledger,
  provider: Provider,
  { claimTtlMs, callTimeMaxMs, unprotected = false }: PaymentSettings,
): Operation<PaymentInput, unknown> {
  return samekey.phased({
    name: 'pay',
    claimTtlMs,
    waitMaxMs: WAIT_MAX_MS,
    attemptMax: ATTEMPT_MAX,
    run: async ({ tenant, body }: PaymentInput, attempt) => {
      const read = readOrder(body);
      if ('wrong' in read) {
        // Nothing happened yet: the client may correct its request and send it under the same key.
        attempt.notExecuted({ correctable: true });
        return reply(400, problemOf(400, 'This payment cannot be made', read.wrong), [PROBLEM_TYPE]);
      }
      const { order, fault } = read;
      const payment = await attempt.phase('order', () =>
        ledger.open(tenant, { operation: attempt.operation, intent: attempt.key }, order),
      );
      const { amountCents, currency } = order;
      const asked = { reference: payment.id, amountCents, currency };
      const call = (key: string, signal: AbortSignal, first: boolean): Promise<Charge> =>
        provider.charge(asked, { key, signal, fault: first ? fault : null });
      let charge: Charge;
      try {
        charge = unprotected
          ? await call(randomUUID(), AbortSignal.timeout(callTimeMaxMs), attempt.number === 1)
          : await attempt.effect(
              'charge',
              ({ downstreamKey, mayHaveRunBefore, signal }) => call(downstreamKey, signal, !mayHaveRunBefore),
              // The key guards the repeat, the question guards against a provider that has forgotten it.
              {
                rule: 'inquire',
                inquire: async ({ signal }) => {
                  const found = await provider.find(payment.id, signal);
                  return found === null ? null : { result: found };
                },
                input: asked,
                callTimeMaxMs,
              },
            );
      } catch (error) {
        // The attempt has stopped: nobody knows whether it was charged.
        if (errorCode(error) === 'ERR_SAMEKEY_STEP') throw error;
        // It was not even sent.
        const why = problemOf(503, 'The provider cannot be reached', 'Nothing was charged: send it again.');
        return reply(503, why, [PROBLEM_TYPE, ['Retry-After', '1']]);
      }
      await attempt.phase('book', () => ledger.book(payment.id, charge.id));
      return reply(201, { ...payment, chargeId: charge.id }, [
        JSON_TYPE,
        ['Location', `/payments/${payment.id}`],
      ]);
    },
  });
}
