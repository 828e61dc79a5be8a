/** Providers of payments. */

import { adyen, paypal, square, stripeV1, stripeV2 } from '../../src/dialects/index.ts';
import { type Spoken, TELLS_THE_FIRST } from './spoken.ts';

const HOUR_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * HOUR_MS;
const key = (name: string): { readonly 'Idempotency-Key': string } => ({ 'Idempotency-Key': name });

const ofStripeV1: Spoken = {
  title: 'Stripe v1',
  exported: 'stripeV1',
  dialect: stripeV1,
  pages: [
    { url: 'https://docs.stripe.com/api/idempotent_requests', day: '2026-11-30' },
    { url: 'https://docs.stripe.com/api/errors', day: '2026-11-30' },
    { url: 'https://docs.stripe.com/error-low-level', day: '2026-11-30' },
    { url: 'https://docs.stripe.com/api-v2-overview#idempotency', day: '2026-11-30' },
  ],
  facts: {
    key: 'in the header `Idempotency-Key`, up to 255 characters; V4 UUIDs or other random texts are suggested',
    required: 'no: all POST requests accept one; it has no effect with GET and DELETE',
    uniqueFor: 'the account: endpoint and parameters are compared',
    compared: 'parameters and endpoint',
    kept: 'keys may be removed after they are at least 24 hours old',
    '5': 'a new request is made if a key is used again after it was removed',
    '6': 'an error: `idempotency_error`',
    '7': 'status and body of the first request, with `Idempotent-Replayed: true`',
    '10': '409, `idempotency_key_in_use`; nothing is saved, and the request may be retried',
    '11b': 'what fails validation is not saved, and may be retried',
    '12': 'every result is saved once the endpoint has begun, 500 included',
    '13': '429 comes before the layer of keys, and is not saved',
    '14': 'runs, and its result is saved once the endpoint has begun',
  },
  stricter: [
    'A request without a key is refused; Stripe runs it. Say `required: false` to run it, unprotected.',
  ],
  transcript: [
    {
      says: 'the first request with a key runs; the key comes back',
      send: { path: '/v1/customers', headers: key('KG5LxwFBepaKHyUD') },
      meanwhile: {
        says: 'one that conflicts with another that is executing: 409, and it may be retried',
        send: { path: '/v1/customers', headers: key('KG5LxwFBepaKHyUD') },
        expect: {
          status: 409,
          ran: false,
          headers: { 'stripe-should-retry': 'true' },
          body: { error: { code: 'idempotency_key_in_use' } },
        },
      },
      expect: {
        status: 201,
        ran: true,
        headers: { 'idempotency-key': 'KG5LxwFBepaKHyUD', 'idempotent-replayed': null },
        body: { run: 1 },
      },
    },
    {
      says: 'a retry with the same key gets the saved status and body, marked as replayed',
      send: { path: '/v1/customers', headers: key('KG5LxwFBepaKHyUD') },
      expect: { status: 201, ran: false, headers: { 'idempotent-replayed': 'true' }, body: { run: 1 } },
    },
    {
      says: 'other parameters than those of the first request: an error',
      send: { path: '/v1/customers', headers: key('KG5LxwFBepaKHyUD'), body: { amount: 11 } },
      expect: { status: 400, ran: false, body: { error: { type: 'idempotency_error' } } },
    },
    {
      says: 'another endpoint: an error too, as keys are of the account',
      send: { path: '/v1/charges', headers: key('KG5LxwFBepaKHyUD') },
      expect: { status: 400, ran: false, body: { error: { type: 'idempotency_error' } } },
    },
    {
      says: 'a 500 is saved too, and is not worth a retry',
      send: { path: '/v1/charges', headers: key('500') },
      handler: { status: 500, body: '{"error":{"type":"api_error"}}' },
      expect: { status: 500, ran: true, headers: { 'stripe-should-retry': 'false' } },
    },
    {
      says: 'a 500 is given again',
      send: { path: '/v1/charges', headers: key('500') },
      expect: { status: 500, ran: false, body: { error: { type: 'api_error' } } },
    },
    {
      says: 'keys have up to 255 characters',
      send: { path: '/v1/charges', headers: key('k'.repeat(256)) },
      expect: { status: 400, ran: false, body: { error: { type: 'invalid_request_error' } } },
    },
    {
      says: 'a key has no effect with DELETE',
      send: { method: 'DELETE', path: '/v1/customers', headers: key('KG5LxwFBepaKHyUD') },
      expect: { status: 201, ran: true },
    },
    {
      says: 'a key is there for 24 hours at least',
      after: DAY_MS - 1_000,
      send: { path: '/v1/customers', headers: key('KG5LxwFBepaKHyUD') },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'used again after it was removed: a new request',
      after: 1_000,
      send: { path: '/v1/customers', headers: key('KG5LxwFBepaKHyUD') },
      expect: { status: 201, ran: true },
    },
  ],
};

const ofStripeV2: Spoken = {
  title: 'Stripe v2',
  exported: 'stripeV2',
  dialect: stripeV2,
  pages: [
    { url: 'https://docs.stripe.com/api-v2-overview#idempotency', day: '2026-11-30' },
    { url: 'https://docs.stripe.com/api/idempotent_requests', day: '2026-11-30' },
  ],
  facts: {
    key: 'in the header `Idempotency-Key`; a UUID is recommended',
    required: 'no: Stripe makes one where none is given. POST and DELETE accept it',
    uniqueFor: 'the same API, within an account or a sandbox',
    kept: '30 days',
    '7': 'a successful operation is not repeated',
    '12': 'failed and partial work is carried to completion where that is possible, and the answer is a new one; where it is not, an error says why',
  },
  stricter: [
    'Work is carried on by [phased operations](../guides/phases.md). After a 5xx or a throw of a plain handler nobody knows what it did: the outcome is unknown (409), and is not run again.',
    'A request without a key is refused: Samekey makes no keys.',
  ],
  transcript: [
    {
      says: 'a first request',
      send: { path: '/v2/examples', headers: key('unique-idempotency-key') },
      expect: { status: 201, ran: true, body: { run: 1 } },
    },
    {
      says: 'an operation that succeeded is not repeated',
      send: { path: '/v2/examples', headers: key('unique-idempotency-key') },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'the same key at another API is another one',
      send: { path: '/v2/others', headers: key('unique-idempotency-key') },
      expect: { status: 201, ran: true },
    },
    {
      says: 'a request that has failed without a side effect',
      send: { path: '/v2/examples', headers: key('failed') },
      handler: { status: 402, body: '{"error":{}}' },
      expect: { status: 402, ran: true, headers: { 'stripe-should-retry': 'true' } },
    },
    {
      says: 'is retried, and the answer is updated',
      send: { path: '/v2/examples', headers: key('failed') },
      expect: { status: 201, ran: true },
    },
    {
      says: 'one that may have had a side effect',
      send: { path: '/v2/examples', headers: key('perhaps') },
      handler: { status: 500, body: '{"error":{}}' },
      expect: { status: 500, ran: true },
    },
    {
      says: 'must not have it twice: here it is not run, and nobody guesses',
      send: { path: '/v2/examples', headers: key('perhaps') },
      expect: { status: 409, ran: false },
    },
    {
      says: 'DELETE accepts a key too',
      send: { method: 'DELETE', path: '/v2/examples/1', headers: key('deleted') },
      expect: { status: 201, ran: true },
    },
    {
      says: 'DELETE accepts a key too',
      send: { method: 'DELETE', path: '/v2/examples/1', headers: key('deleted') },
      expect: { status: 201, ran: false },
    },
    {
      says: 'within 30 days it is the same request',
      after: 30 * DAY_MS - 1_000,
      send: { path: '/v2/examples', headers: key('unique-idempotency-key') },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'afterwards it is another',
      after: 1_000,
      send: { path: '/v2/examples', headers: key('unique-idempotency-key') },
      expect: { status: 201, ran: true },
    },
  ],
};

const payment = (name: unknown, amount = 1_000): object => ({
  idempotency_key: name,
  source_id: 'ccof:GaJGNaZa8x4OgDJn4GB',
  amount_money: { amount, currency: 'USD' },
});

const ofSquare: Spoken = {
  title: 'Square',
  exported: 'square',
  dialect: square,
  pages: [
    {
      url: 'https://developer.squareup.com/docs/build-basics/common-api-patterns/idempotency',
      day: '2026-11-30',
    },
    { url: 'https://github.com/square/connect-api-specification/blob/master/api.json', day: '2026-11-30' },
  ],
  open: { policy: 'payments' },
  facts: {
    key: 'in the member `idempotency_key` of the JSON body; up to 45 characters for payments and refunds, 64 to 255 elsewhere',
    required: 'yes for payments and refunds, no for others such as orders',
    uniqueFor: 'must be unique for every request of an endpoint (`CreatePayment`)',
    compared: 'the request; it may differ by API',
    '1': '`MISSING_REQUIRED_PARAMETER` of `INVALID_REQUEST_ERROR`: the status is not documented',
    '2': '`VALUE_EMPTY`, `VALUE_TOO_LONG`, `EXPECTED_STRING`: the status is not documented',
    '3a': '`EXPECTED_JSON_BODY`: the status is not documented',
    '4': '`SERVICE_UNAVAILABLE`: the status is not documented',
    '6': '`IDEMPOTENCY_KEY_REUSED` of `INVALID_REQUEST_ERROR`: the status is not documented',
    '7': 'the answer of the first successful request',
    '12': '`TEMPORARY_ERROR`: may be retried under the same key. Other failures are not documented',
    '13': '429, `RATE_LIMITED`',
  },
  stricter: ['A key that stands in the body twice, or is no text, is refused.'],
  transcript: [
    {
      says: 'CreatePayment with a key',
      send: { path: '/v2/payments', body: payment('7b0f3ec5-086a-4871-8f13-3c81b3875218') },
      expect: { status: 201, ran: true, body: { run: 1 } },
    },
    {
      says: 'the same request again: the answer of the first, no second payment',
      send: { path: '/v2/payments', body: payment('7b0f3ec5-086a-4871-8f13-3c81b3875218') },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'another amount under the key: an error that says so',
      send: { path: '/v2/payments', body: payment('7b0f3ec5-086a-4871-8f13-3c81b3875218', 2_000) },
      expect: {
        status: 400,
        ran: false,
        body: { errors: [{ category: 'INVALID_REQUEST_ERROR', code: 'IDEMPOTENCY_KEY_REUSED' }] },
      },
    },
    {
      says: 'it is required',
      send: { path: '/v2/payments', body: payment(undefined) },
      expect: {
        status: 400,
        ran: false,
        body: { errors: [{ code: 'MISSING_REQUIRED_PARAMETER', field: 'idempotency_key' }] },
      },
    },
    {
      says: 'it has 45 characters at most',
      send: { path: '/v2/payments', body: payment('k'.repeat(46)) },
      expect: { status: 400, ran: false, body: { errors: [{ code: 'VALUE_TOO_LONG' }] } },
    },
    {
      says: 'and 1 at least',
      send: { path: '/v2/payments', body: payment('') },
      expect: { status: 400, ran: false, body: { errors: [{ code: 'VALUE_EMPTY' }] } },
    },
    {
      says: 'it is a text',
      send: { path: '/v2/payments', body: payment(7) },
      expect: { status: 400, ran: false, body: { errors: [{ code: 'EXPECTED_STRING' }] } },
    },
    {
      says: 'a body that is no JSON is told before a key that is missing',
      send: { path: '/v2/payments', body: '{"source_id":' },
      expect: { status: 400, ran: false, body: { errors: [{ code: 'EXPECTED_JSON_BODY' }] } },
    },
    {
      says: 'another endpoint has keys of its own',
      send: { path: '/v2/refunds', body: payment('7b0f3ec5-086a-4871-8f13-3c81b3875218') },
      expect: { status: 201, ran: true },
    },
  ],
};

const paypalKey = (name: string): { readonly 'PayPal-Request-Id': string } => ({ 'PayPal-Request-Id': name });
const CAPTURE = '/v2/payments/authorizations/0VF52814937998046/capture';

const ofPaypal: Spoken = {
  title: 'PayPal',
  exported: 'paypal',
  dialect: paypal,
  pages: [
    { url: 'https://developer.paypal.com/api/rest/reference/idempotency', day: '2026-11-30' },
    {
      url: 'https://github.com/paypal/paypal-rest-api-specifications/blob/main/openapi/payments_payment_v2.json',
      day: '2026-11-30',
    },
    {
      url: 'https://github.com/paypal/paypal-rest-api-specifications/blob/main/openapi/checkout_orders_v2.json',
      day: '2026-11-30',
    },
  ],
  facts: {
    key: 'in the header `PayPal-Request-Id`; 38 characters of a UUID are recommended, Orders v2 takes 1 to 108',
    required: 'no, but for an order with a payment source; without one the request is made twice',
    uniqueFor: 'a request and a kind of call, such as to authorise and to capture',
    kept: 'by API: 3 hours (vault), 6 hours, up to 72 on request (Orders v2), 72 hours (subscriptions, products), 30 days (payouts), 45 days (Payments v2)',
    '1': 'Orders v2 with a payment source: 400, `PAYPAL_REQUEST_ID_REQUIRED`',
    '7': 'the latest status of the first request; Orders v2 answers 200 where the first was 201',
    '10': 'the first of two is processed, and the second might fail; Payments v2: 409, `PREVIOUS_REQUEST_IN_PROGRESS`',
    '12': 'calls that fail with a time-out or a 5xx may be retried for as long as the id is stored',
    '14': 'is processed',
  },
  stricter: [
    TELLS_THE_FIRST,
    'After a 5xx a retry runs only where the work is proven to be undone; else the outcome is unknown (409).',
    'A request without a key is refused; PayPal runs it.',
    'It is kept for 45 days, the longest that a page names.',
  ],
  transcript: [
    {
      says: 'a payment is captured',
      send: { path: CAPTURE, headers: paypalKey('123e4567-e89b-12d3-a456-426655440010') },
      meanwhile: {
        says: 'of two simultaneous requests the second might fail: 409',
        send: { path: CAPTURE, headers: paypalKey('123e4567-e89b-12d3-a456-426655440010') },
        expect: {
          status: 409,
          ran: false,
          body: { name: 'RESOURCE_CONFLICT', details: [{ issue: 'PREVIOUS_REQUEST_IN_PROGRESS' }] },
        },
      },
      expect: { status: 201, ran: true, body: { run: 1 } },
    },
    {
      says: 'the server does not capture again',
      send: { path: CAPTURE, headers: paypalKey('123e4567-e89b-12d3-a456-426655440010') },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'the id is unique for a kind of call',
      send: { path: '/v2/checkout/orders', headers: paypalKey('123e4567-e89b-12d3-a456-426655440010') },
      expect: { status: 201, ran: true },
    },
    {
      says: 'an order with a payment source needs the header',
      send: { path: '/v2/checkout/orders' },
      expect: {
        status: 400,
        ran: false,
        body: { name: 'INVALID_REQUEST', details: [{ issue: 'PAYPAL_REQUEST_ID_REQUIRED' }] },
      },
    },
    {
      says: 'a 5xx may be retried under the id',
      send: { path: CAPTURE, headers: paypalKey('5xx') },
      handler: { status: 500, body: '{}' },
      expect: { status: 500, ran: true },
    },
    {
      says: 'but what is not proven to be undone is not run again',
      send: { path: CAPTURE, headers: paypalKey('5xx') },
      expect: { status: 409, ran: false, body: { name: 'RESOURCE_CONFLICT' } },
    },
    {
      says: 'Payments v2 stores keys for 45 days',
      after: 45 * DAY_MS - 1_000,
      send: { path: CAPTURE, headers: paypalKey('123e4567-e89b-12d3-a456-426655440010') },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
  ],
};

const ofAdyen: Spoken = {
  title: 'Adyen',
  exported: 'adyen',
  dialect: adyen,
  pages: [{ url: 'https://docs.adyen.com/development-resources/api-idempotency', day: '2026-11-30' }],
  open: { policy: 'payments' },
  facts: {
    key: 'in the header `Idempotency-Key`, up to 64 characters; a version 4 UUID is recommended',
    required: 'no; POST requests take one',
    uniqueFor: 'the company account; other regions do not know it',
    kept: '7 days at least (older pages: 31)',
    '4': '503, error code 703 "required resource temporarily unavailable", `transient-error: true`',
    '7': 'the answer of the first attempt; the header `Idempotency-Key` of the answer says that it was processed so',
    '10': '422 or 409, error code 704 "request already processed or in progress"; `transient-error: true` where it may be retried under the same key',
    '12': 'to be retried where `transient-error` is `true`, and not otherwise',
  },
  stricter: ['Where the store is away the request is refused; Adyen suggests to send it without a key.'],
  transcript: [
    {
      says: 'a payment; the key comes back',
      send: { path: '/v72/payments', headers: key('c2b1b0a4-2a25-4f4c-9e9b-5f0c6a1f5f7a') },
      meanwhile: {
        says: 'a duplicate before the first has completed: 409 with 704, a transient error',
        send: { path: '/v72/payments', headers: key('c2b1b0a4-2a25-4f4c-9e9b-5f0c6a1f5f7a') },
        expect: {
          status: 409,
          ran: false,
          headers: { 'transient-error': 'true' },
          body: { errorCode: '704', message: 'request already processed or in progress' },
        },
      },
      expect: {
        status: 201,
        ran: true,
        headers: { 'idempotency-key': 'c2b1b0a4-2a25-4f4c-9e9b-5f0c6a1f5f7a', 'transient-error': null },
        body: { run: 1 },
      },
    },
    {
      says: 'processed already: the answer of the first attempt, with the key in its header',
      send: { path: '/v72/payments', headers: key('c2b1b0a4-2a25-4f4c-9e9b-5f0c6a1f5f7a') },
      expect: {
        status: 201,
        ran: false,
        headers: { 'idempotency-key': 'c2b1b0a4-2a25-4f4c-9e9b-5f0c6a1f5f7a' },
        body: { run: 1 },
      },
    },
    {
      says: 'keys are unique to the company account, whatever the endpoint',
      send: { path: '/v72/payments/x/refunds', headers: key('c2b1b0a4-2a25-4f4c-9e9b-5f0c6a1f5f7a') },
      expect: { status: 422, ran: false },
    },
    {
      says: 'another company account has keys of its own',
      send: { account: 'other', path: '/v72/payments', headers: key('c2b1b0a4-2a25-4f4c-9e9b-5f0c6a1f5f7a') },
      expect: { status: 201, ran: true },
    },
    {
      says: 'a key has 64 characters at most',
      send: { path: '/v72/payments', headers: key('k'.repeat(65)) },
      expect: { status: 400, ran: false, body: { errorType: 'validation' } },
    },
    {
      says: 'valid for 7 days at least',
      after: 7 * DAY_MS - 1_000,
      send: { path: '/v72/payments', headers: key('c2b1b0a4-2a25-4f4c-9e9b-5f0c6a1f5f7a') },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
  ],
};

export const PAYMENTS: readonly Spoken[] = [ofStripeV1, ofStripeV2, ofSquare, ofPaypal, ofAdyen];
