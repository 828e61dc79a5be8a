/**
 * Providers of payments.
 *
 * Sources: docs/reference/dialects.md has every page, with the day on which it was read.
 */

import type { Dialect } from '../http/dialect.ts';
import { envelope } from '../http/profiles/errors-by-data.ts';
import { stripe } from '../http/profiles/stripe.ts';
import { UNDONE_OR_UNKNOWN } from './remarks.ts';
import { DAY_MS } from './times.ts';

/** Stripe's API v1: every answer of an endpoint that has begun is kept for 24 hours, 500 included. */
export const stripeV1: Dialect = {
  name: 'stripe-v1',
  operation: { policy: 'stripe', retentionMs: DAY_MS },
  route: {
    header: 'Idempotency-Key',
    key: { lengthMax: 255 },
    keyUniqueFor: 'caller',
    methods: ['POST'],
    profile: stripe(),
  },
};

/**
 * Stripe's API v2: a retry carries failed or partial work to completion, for 30 days. That is a phased operation; a
 * handler that answers 5xx by itself may have done something, and its key is then unknown, not run again.
 */
export const stripeV2: Dialect = {
  name: 'stripe-v2',
  remark: UNDONE_OR_UNKNOWN,
  operation: {
    policy: {
      name: 'stripe-v2',
      verdicts: {
        success: 'completed',
        finalRefusal: 'retryable',
        passingRefusal: 'retryable',
        requestTimeout: 'unknown',
        serverError: 'unknown',
        gatewayError: 'unknown',
        threw: 'unknown',
        rolledBack: 'retryable',
      },
    },
    retentionMs: 30 * DAY_MS,
    retryWindowMs: 30 * DAY_MS,
  },
  route: {
    header: 'Idempotency-Key',
    keyUniqueFor: 'operation',
    methods: ['POST', 'DELETE'],
    profile: stripe(),
  },
};

/** Square: a member of the body. Its pages leave open how long keys are kept, and what becomes of a 5xx. */
export const square: Dialect = {
  name: 'square',
  operation: {},
  route: {
    keyIn: { body: '/idempotency_key' },
    // Of CreatePayment and RefundPayment; other endpoints take 64 to 255.
    key: { lengthMax: 45 },
    keyUniqueFor: 'operation',
    required: true,
    profile: envelope({
      name: 'square',
      body: { errors: [{ category: '$type', code: '$code', detail: '$message', field: '$param' }] },
      spelling: 'KEY_REUSED',
      types: {
        403: 'AUTHENTICATION_ERROR',
        429: 'RATE_LIMIT_ERROR',
        '4xx': 'INVALID_REQUEST_ERROR',
        '5xx': 'API_ERROR',
      },
      cases: {
        anonymous: { code: 'FORBIDDEN' },
        'key-missing': { code: 'MISSING_REQUIRED_PARAMETER', param: 'idempotency_key' },
        'key-empty': { code: 'VALUE_EMPTY', param: 'idempotency_key' },
        'key-blank': { code: 'VALUE_EMPTY', param: 'idempotency_key' },
        'key-too-short': { code: 'VALUE_TOO_SHORT', param: 'idempotency_key' },
        'key-too-long': { code: 'VALUE_TOO_LONG', param: 'idempotency_key' },
        'key-grammar': { code: 'EXPECTED_STRING', param: 'idempotency_key' },
        'key-malformed': { code: 'INVALID_VALUE', param: 'idempotency_key' },
        'body-malformed': { code: 'EXPECTED_JSON_BODY' },
        'body-too-large': { code: 'REQUEST_ENTITY_TOO_LARGE' },
        'store-unavailable': { code: 'SERVICE_UNAVAILABLE' },
        'key-reused': { status: 400, code: 'IDEMPOTENCY_KEY_REUSED', param: 'idempotency_key' },
        'in-progress': { code: 'CONFLICT' },
        limited: { code: 'RATE_LIMITED' },
      },
    }),
  },
};

/**
 * PayPal: `PayPal-Request-Id`, unique for a kind of call, kept for 45 days as Payments v2 does. PayPal answers a retry
 * with the present state of the first request; here it is the first answer, unless the route has `onReplay`.
 */
export const paypal: Dialect = {
  name: 'paypal',
  remark: UNDONE_OR_UNKNOWN,
  // "You can retry idempotent calls that fail with … 5xx": only where the work is proven to be undone.
  operation: { policy: 'payments', retentionMs: 45 * DAY_MS },
  route: {
    header: 'PayPal-Request-Id',
    // Of Orders v2, the longest that a page names.
    key: { lengthMax: 108 },
    keyUniqueFor: 'operation',
    methods: ['POST'],
    profile: envelope({
      name: 'paypal',
      body: {
        name: '$type',
        message: '$message',
        details: [{ issue: '$code', description: '$message', field: '$param' }],
        links: [],
      },
      spelling: 'KEY_REUSED',
      types: {
        403: 'NOT_AUTHORIZED',
        409: 'RESOURCE_CONFLICT',
        422: 'UNPROCESSABLE_ENTITY',
        503: 'SERVICE_UNAVAILABLE',
        '4xx': 'INVALID_REQUEST',
        '5xx': 'INTERNAL_SERVER_ERROR',
      },
      cases: {
        'key-missing': { code: 'PAYPAL_REQUEST_ID_REQUIRED' },
        'in-progress': { code: 'PREVIOUS_REQUEST_IN_PROGRESS' },
      },
    }),
  },
};

/** Adyen: keys of a company account, kept for 7 days; `transient-error` says whether to send it again. */
export const adyen: Dialect = {
  name: 'adyen',
  operation: { retentionMs: 7 * DAY_MS },
  route: {
    header: 'Idempotency-Key',
    key: { lengthMax: 64 },
    keyUniqueFor: 'caller',
    methods: ['POST'],
    profile: envelope({
      name: 'adyen',
      body: { status: '$status', errorCode: '$code', message: '$message', errorType: '$type' },
      types: { 403: 'security', '4xx': 'validation', '5xx': 'internal' },
      cases: {
        'store-unavailable': { code: '703', message: 'required resource temporarily unavailable' },
        'in-progress': { code: '704', message: 'request already processed or in progress' },
      },
      keyHeader: 'Idempotency-Key',
      retryHeader: 'transient-error',
    }),
  },
};
