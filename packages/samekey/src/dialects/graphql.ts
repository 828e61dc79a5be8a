/**
 * GraphQL APIs: one address for all operations, and a key among the variables.
 *
 * Sources: docs/reference/dialects.md has every page, with the day on which it was read.
 */

import type { Dialect } from '../http/dialect.ts';
import { envelope } from '../http/profiles/errors-by-data.ts';
import { UNDONE_OR_UNKNOWN } from './remarks.ts';
import { DAY_MS } from './times.ts';

/** Braintree: `apiRequestKey` in the input, for 30 days. A 5xx of a plain handler is unknown, as its INTERNAL is. */
export const braintree: Dialect = {
  name: 'braintree',
  remark: UNDONE_OR_UNKNOWN,
  operation: { policy: 'payments', retentionMs: 30 * DAY_MS, retryWindowMs: 30 * DAY_MS },
  route: {
    keyIn: { body: '/variables/input/apiRequestKey' },
    profile: envelope({
      name: 'braintree',
      body: { errors: [{ message: '$message', extensions: { errorClass: '$type' } }] },
      types: {
        403: 'AUTHORIZATION',
        429: 'RESOURCE_LIMIT',
        503: 'SERVICE_AVAILABILITY',
        '4xx': 'VALIDATION',
        '5xx': 'INTERNAL',
      },
    }),
  },
};

/** Shopify: the key of `@idempotent(key: $idempotencyKey)`, as a variable; for 24 hours. */
export const shopify: Dialect = {
  name: 'shopify',
  operation: { retentionMs: DAY_MS },
  route: {
    keyIn: { body: '/variables/idempotencyKey' },
    profile: envelope({
      name: 'shopify',
      body: { errors: [{ message: '$message', extensions: { code: '$code' } }] },
      spelling: 'KEY_REUSED',
      cases: {
        'key-reused': {
          code: 'IDEMPOTENCY_KEY_PARAMETER_MISMATCH',
          message: 'The same idempotency key cannot be used with different operation parameters.',
        },
        'in-progress': {
          code: 'IDEMPOTENCY_CONCURRENT_REQUEST',
          message: 'This request is currently in progress, please try again.',
        },
      },
    }),
  },
};
