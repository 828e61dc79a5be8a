/** GraphQL APIs. */

import { braintree, shopify } from '../../src/dialects/index.ts';
import { type Spoken, TELLS_THE_FIRST } from './spoken.ts';

const HOUR_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * HOUR_MS;
const KEY = '550e8400-e29b-41d4-a716-446655440000';

const charge = (apiRequestKey: string | undefined, amount = '10.00'): object => ({
  query:
    'mutation ($input: ChargePaymentMethodInput!) { chargePaymentMethod(input: $input) { transaction { id } } }',
  variables: { input: { apiRequestKey, paymentMethodId: 'id', transaction: { amount } } },
});

const ofBraintree: Spoken = {
  title: 'Braintree',
  exported: 'braintree',
  dialect: braintree,
  pages: [
    {
      url: 'https://developer.paypal.com/braintree/graphql/integration_guides/idempotency',
      day: '2026-11-30',
    },
    {
      url: 'https://developer.paypal.com/braintree/graphql/reference/types/charge-payment-method-input.md',
      day: '2026-11-30',
    },
  ],
  facts: {
    key: 'in the field `apiRequestKey` of the input, GraphQL only',
    required: 'no; without one transactions are checked for duplicates',
    compared: 'the input values',
    kept: '30 days after the first request has finished',
    '5': 'it is treated as if it had not been used',
    '6': 'a `VALIDATION` error',
    '7': 'the same transaction in its present status, if the first request has made one',
    '10': 'a `VALIDATION` error: a retry comes after the first request has completed',
    '12': 'after an `INTERNAL` error, where the state is not certain, it may be sent again',
    '14': 'is processed as usual',
  },
  stricter: [
    TELLS_THE_FIRST,
    'Its errors come with a 4xx or 5xx; which status Braintree answers is not documented on these pages.',
    'After a 5xx a retry runs only where the work is proven to be undone; else the outcome is unknown (409).',
    'A request without a key is refused, a query too: `required: false` lets both pass unprotected, so send queries to an address of their own. All mutations of an address are one operation.',
  ],
  transcript: [
    {
      says: 'a new key: processed as usual',
      send: { path: '/graphql', body: charge(KEY) },
      meanwhile: {
        says: 'the same while the first is in flight: VALIDATION',
        send: { path: '/graphql', body: charge(KEY) },
        expect: { status: 409, ran: false, body: { errors: [{ extensions: { errorClass: 'VALIDATION' } }] } },
      },
      expect: { status: 201, ran: true, body: { run: 1 } },
    },
    {
      says: 'the same key: the transaction that was made, and no other',
      send: { path: '/graphql', body: charge(KEY) },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'other input values: VALIDATION',
      send: { path: '/graphql', body: charge(KEY, '11.00') },
      expect: { status: 422, ran: false, body: { errors: [{ extensions: { errorClass: 'VALIDATION' } }] } },
    },
    {
      says: 'no key',
      send: { path: '/graphql', body: charge(undefined) },
      expect: { status: 400, ran: false },
    },
    {
      says: 'the state is not certain after an INTERNAL error: it is not run again here',
      send: { path: '/graphql', body: charge('internal') },
      handler: { status: 500, body: '{}' },
      expect: { status: 500, ran: true },
    },
    {
      says: 'the state is not certain after an INTERNAL error: it is not run again here',
      send: { path: '/graphql', body: charge('internal') },
      expect: { status: 409, ran: false },
    },
    {
      says: 'for 30 days',
      after: 30 * DAY_MS - 1_000,
      send: { path: '/graphql', body: charge(KEY) },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'then as if it had not been used',
      after: 1_000,
      send: { path: '/graphql', body: charge(KEY) },
      expect: { status: 201, ran: true },
    },
  ],
};

const deactivate = (idempotencyKey: string | undefined, locationId = '658095763'): object => ({
  query:
    'mutation ($locationId: ID!, $idempotencyKey: String!) { locationDeactivate(locationId: $locationId) @idempotent(key: $idempotencyKey) { location { id } } }',
  variables: { locationId: `gid://shopify/Location/${locationId}`, idempotencyKey },
});

const ofShopify: Spoken = {
  title: 'Shopify',
  exported: 'shopify',
  dialect: shopify,
  pages: [
    { url: 'https://shopify.dev/docs/api/usage/idempotent-requests', day: '2026-11-30' },
    {
      url: 'https://shopify.dev/docs/apps/build/apis/graphql-admin/implementing-idempotency',
      day: '2026-11-30',
    },
    {
      url: 'https://shopify.dev/docs/api/admin-graphql/latest/mutations/locationDeactivate',
      day: '2026-11-30',
    },
  ],
  open: { policy: 'payments' },
  facts: {
    key: 'in the directive `@idempotent(key:)` of a mutation, or in an argument `idempotencyKey`; examples pass the variable `$idempotencyKey`. UUID v4 or v7 is recommended',
    required: 'yes for the mutations that are listed, since 2026-04',
    compared: 'the parameters; the order of fields should not change',
    kept: '24 hours from the original request',
    '5': 'retries are separate operations',
    '6': '`IDEMPOTENCY_KEY_PARAMETER_MISMATCH` among the `userErrors`',
    '7': 'the first result, made from the present state',
    '10': '`IDEMPOTENCY_CONCURRENT_REQUEST` among the `userErrors`: wait, then the same key again',
  },
  stricter: [
    TELLS_THE_FIRST,
    'Codes stand in `errors[].extensions.code` with a 4xx: `userErrors` are of a mutation, which the protection does not know.',
    'A query at the same address has no key, and is refused: `required: false` lets it pass, and mutations without a key too.',
    'The key comes as the variable `idempotencyKey`; one that is written into the text of the query is not seen, and the request is refused.',
  ],
  transcript: [
    {
      says: 'a mutation under a key',
      send: { path: '/graphql.json', body: deactivate(KEY) },
      meanwhile: {
        says: 'the same while it is in progress',
        send: { path: '/graphql.json', body: deactivate(KEY) },
        expect: {
          status: 409,
          ran: false,
          body: { errors: [{ extensions: { code: 'IDEMPOTENCY_CONCURRENT_REQUEST' } }] },
        },
      },
      expect: { status: 201, ran: true, body: { run: 1 } },
    },
    {
      says: 'executed once, however often it is retried',
      send: { path: '/graphql.json', body: deactivate(KEY) },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'other parameters under the key',
      send: { path: '/graphql.json', body: deactivate(KEY, '1') },
      expect: {
        status: 422,
        ran: false,
        body: { errors: [{ extensions: { code: 'IDEMPOTENCY_KEY_PARAMETER_MISMATCH' } }] },
      },
    },
    {
      says: 'without a key there is an error',
      send: { path: '/graphql.json', body: deactivate(undefined) },
      expect: { status: 400, ran: false },
    },
    {
      says: 'for 24 hours',
      after: 24 * HOUR_MS - 1_000,
      send: { path: '/graphql.json', body: deactivate(KEY) },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'then it is a separate operation',
      after: 1_000,
      send: { path: '/graphql.json', body: deactivate(KEY) },
      expect: { status: 201, ran: true },
    },
  ],
};

export const GRAPHQL: readonly Spoken[] = [ofBraintree, ofShopify];
