/** Checks what a client sent before anything is done with it. */

import { FAULTS, type Fault, faultNamed } from './faults.ts';
import type { Order } from './ledger.ts';

const AMOUNT_MAX_CENTS = 100_000_000;

/** The order in a request body and what its provider is to do wrong, or what is wrong with the body. */
export function readOrder(
  body: unknown,
): { readonly order: Order; readonly fault: Fault | null } | { readonly wrong: string } {
  const { customerId, amountCents, currency, provider } = (body ?? {}) as Partial<
    Record<keyof Order | 'provider', unknown>
  >;
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
  const fault = faultNamed(provider);
  if (provider !== undefined && fault === null) {
    return { wrong: `provider, if it is there, must be one of ${Object.keys(FAULTS).join(', ')}.` };
  }
  return { order: { customerId, amountCents, currency }, fault };
}
