/** Checks what a client sent before anything is done with it. */

import type { Order } from './ledger.ts';

const AMOUNT_MAX_CENTS = 100_000_000;

/** The order in a request body, or what is wrong with it. */
export function readOrder(body: unknown): { readonly order: Order } | { readonly wrong: string } {
  const { customerId, amountCents, currency } = (body ?? {}) as Partial<Record<keyof Order, unknown>>;
  if (typeof customerId !== 'string' || !/^[\w-]{1,64}$/.test(customerId)) {
    return { wrong: 'customerId must be 1 to 64 letters, digits, "_" or "-", such as "cus_1".' };
  }
  if (
    typeof amountCents !== 'number' ||
    !Number.isInteger(amountCents) ||
    amountCents < 1 ||
    amountCents > AMOUNT_MAX_CENTS
  ) {
    return { wrong: `amountCents must be a whole number from 1 to ${AMOUNT_MAX_CENTS}, such as 1200.` };
  }
  if (typeof currency !== 'string' || !/^[a-z]{3}$/.test(currency)) {
    return { wrong: 'currency must be three small letters, such as "usd".' };
  }
  return { order: { customerId, amountCents, currency } };
}
