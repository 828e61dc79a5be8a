/**
 * `@samekey/client/stripe`: how Stripe speaks, and servers with Samekey's profile of that name. Its types and codes
 * count only where the caller says that the server is Stripe, by this profile.
 *
 * Sources: https://docs.stripe.com/api/errors (error object), https://docs.stripe.com/error-low-level
 * (`Stripe-Should-Retry`), https://docs.stripe.com/error-codes (`idempotency_key_in_use`).
 */

import type { ClientProfile } from './answer.ts';
import { isCode } from './meanings.ts';

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
    return { code: isCode(spelt) ? spelt : String(type), retryable };
  },
};
