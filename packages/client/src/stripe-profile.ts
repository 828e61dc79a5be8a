/**
 * `@samekey/client/stripe`: how Stripe speaks, and servers with Samekey's profile of that name. Its types and codes
 * count only where the caller says that the server is Stripe, by this profile.
 *
 * Sources: https://docs.stripe.com/api/errors (error object), https://docs.stripe.com/error-low-level
 * (`Stripe-Should-Retry`), https://docs.stripe.com/error-codes (`idempotency_key_in_use`).
 */

import type { ClientProfile } from './answer.ts';
import { isCode } from './meanings.ts';

/** Types that are certain with their status: the card was refused; it was refused before anything began. */
const CERTAIN: Readonly<Record<string, 'stored' | 'never-ran'>> = {
  'card_error 402': 'stored',
  'invalid_request_error 400': 'never-ran',
  'invalid_request_error 402': 'never-ran',
  'invalid_request_error 404': 'never-ran',
};

/** Pass it as `profile`. Keys are sent bare. */
export const stripe: ClientProfile = {
  quoted: false,
  read({ status, headers }, document) {
    const should = headers.get('stripe-should-retry');
    const retryable = should === null ? null : should === 'true';
    const { code, type } = document.error ?? { code: document.code, type: '' };
    const spelt = String(code).replaceAll('_', '-');
    if (type === 'idempotency_error') {
      const inUse = spelt === 'idempotency-key-in-use' ? 'in-progress' : '';
      return { code: status === 400 ? 'key-reused' : inUse, retryable };
    }
    // Samekey's own cases have its codes in Stripe's spelling.
    if (isCode(spelt)) return { code: spelt, retryable };
    const means = CERTAIN[`${String(type)} ${status}`];
    return { code: '', retryable, ...(means && { means }) };
  },
};
