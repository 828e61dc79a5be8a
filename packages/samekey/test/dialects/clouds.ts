/** Clouds, and what data is kept in. */

import { aip155, awsClientToken, icebergRest } from '../../src/dialects/index.ts';
import { type Spoken, TELLS_THE_FIRST } from './spoken.ts';

const MINUTE_MS = 60 * 1_000;
const TOKEN = '550e8400-e29b-41d4-a716-446655440000';
const V7 = '017F22E2-79B0-7CC3-98C4-DC0C0C07398F';

const ofAws: Spoken = {
  title: 'AWS client tokens',
  exported: 'awsClientToken',
  dialect: awsClientToken,
  pages: [
    { url: 'https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html', day: '2026-11-30' },
    {
      url: 'https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html',
      day: '2026-11-30',
    },
  ],
  open: { policy: 'payments' },
  facts: {
    key: 'a parameter or member, `ClientToken`, `clientToken` or `ClientRequestToken` by service; EC2: up to 64 ASCII characters, letter case counts',
    required: 'no; the SDKs make one where none is given',
    uniqueFor: 'a region, or an availability zone, by action',
    compared: 'the parameters',
    kept: 'EC2: not documented. DynamoDB (`TransactWriteItems`): 10 minutes after the first request has completed',
    '6': '`IdempotentParameterMismatch`, 400',
    '7': 'succeeds without doing anything; the answer may tell the present state',
  },
  stricter: [
    TELLS_THE_FIRST,
    'It speaks JSON; the Query API of EC2 takes the token in its form or query, and answers XML.',
    'A service that names its token otherwise has a dialect of its own: `{ ...awsClientToken, route: { ...awsClientToken.route, keyIn: { body: "/ClientRequestToken" } } }`.',
  ],
  transcript: [
    {
      says: 'a request with a token',
      send: { body: { clientToken: TOKEN, count: 1 } },
      expect: { status: 201, ran: true, body: { run: 1 } },
    },
    {
      says: 'after it has succeeded its retry succeeds, and does nothing more',
      send: { body: { clientToken: TOKEN, count: 1 } },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'another parameter under the token: IdempotentParameterMismatch',
      send: { body: { clientToken: TOKEN, count: 2 } },
      expect: { status: 400, ran: false, body: { __type: 'IdempotentParameterMismatch' } },
    },
    {
      says: 'letter case counts: another token',
      send: { body: { clientToken: TOKEN.toUpperCase(), count: 1 } },
      expect: { status: 201, ran: true },
    },
    {
      says: 'it has 64 characters at most',
      send: { body: { clientToken: 'k'.repeat(65) } },
      expect: { status: 400, ran: false, body: { __type: 'ValidationException' } },
    },
  ],
};

const ofAip: Spoken = {
  title: 'Google AIP-155',
  exported: 'aip155',
  dialect: aip155,
  pages: [
    { url: 'https://google.aip.dev/155', day: '2026-11-30' },
    { url: 'https://google.aip.dev/193', day: '2026-11-30' },
    { url: 'https://google.aip.dev/194', day: '2026-11-30' },
  ],
  open: { policy: 'payments' },
  facts: {
    key: 'in the field `request_id` of the request, beside the resource: over HTTP a parameter of the query, or a member with `body: "*"`; a version 4 UUID of 36 characters is what the format says',
    required: 'should be optional; a request is idempotent only with one',
    kept: 'any reasonable time',
    '7': 'should be the answer of the request that succeeded; it may tell the present state',
    '11a': 'the format must be documented, and may be UUIDs only',
  },
  stricter: [
    TELLS_THE_FIRST,
    'A request without an id is refused. Say `required: false` to run it, unprotected.',
    'While the first runs, and where its outcome is unknown, the answer is 503 `UNAVAILABLE`, which AIP-194 lets clients send again as it was; `ABORTED` would have them start over.',
  ],
  transcript: [
    {
      says: 'a book is created under an id',
      send: { url: `/v1/publishers/1/books?bookId=b&requestId=${TOKEN}`, path: 'books' },
      expect: { status: 201, ran: true, body: { run: 1 } },
    },
    {
      says: 'while it is made: UNAVAILABLE, so that the same request is sent again',
      send: { url: `/v1/publishers/1/books?requestId=${TOKEN.replace('550e', '550f')}`, path: 'books' },
      meanwhile: {
        says: 'while it is made: UNAVAILABLE, so that the same request is sent again',
        send: { url: `/v1/publishers/1/books?requestId=${TOKEN.replace('550e', '550f')}`, path: 'books' },
        expect: { status: 503, ran: false, body: { error: { status: 'UNAVAILABLE' } } },
      },
      expect: { status: 201, ran: true },
    },
    {
      says: 'a duplicate: the answer of the request that succeeded',
      send: { url: `/v1/publishers/1/books?bookId=b&requestId=${TOKEN}`, path: 'books' },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'another book under the id, which no page decides',
      send: { url: `/v1/publishers/1/books?bookId=b&requestId=${TOKEN}`, path: 'books', body: {} },
      expect: { status: 400, ran: false, body: { error: { code: 400, status: 'INVALID_ARGUMENT' } } },
    },
    {
      says: 'its format is a version 4 UUID',
      send: { url: `/v1/publishers/1/books?requestId=${V7}`, path: 'books' },
      expect: { status: 400, ran: false, body: { error: { status: 'INVALID_ARGUMENT' } } },
    },
    {
      says: 'of two ids nobody knows which is meant',
      send: { url: `/v1/publishers/1/books?requestId=${TOKEN}&requestId=${V7}`, path: 'books' },
      expect: { status: 400, ran: false },
    },
  ],
};

const ofIceberg: Spoken = {
  title: 'Apache Iceberg REST catalog',
  exported: 'icebergRest',
  dialect: icebergRest,
  pages: [
    {
      url: 'https://github.com/apache/iceberg/blob/main/open-api/rest-catalog-open-api.yaml',
      day: '2026-11-30',
    },
  ],
  facts: {
    key: 'in the header `Idempotency-Key`: a UUID of version 7, 36 characters',
    required: 'no',
    uniqueFor: 'globally: not for another operation',
    kept: 'not less than the `idempotency-key-lifetime` that `/v1/config` tells, such as `PT30M`, from the first submission on',
    '5': 'clients should not use a key again then',
    '7': 'an equivalent final answer, without running again; it may tell a newer state',
    '12': '200, 201, 204 and 4xx that are final, 409 too, are kept; a 5xx is not',
  },
  stricter: [
    TELLS_THE_FIRST,
    'After a 5xx a retry runs only where the work is proven to be undone; else the outcome is unknown (500, `CommitStateUnknownException`). While the first runs it is 503: by a 409 a client believes that its commit has failed, and makes another one.',
    'Tell in `/v1/config` the lifetime that the route has: `PT30M`, or what a longer `retentionMs` says.',
  ],
  transcript: [
    {
      says: 'a namespace is created',
      send: { path: '/v1/p/namespaces', headers: { 'Idempotency-Key': V7 } },
      expect: { status: 201, ran: true, body: { run: 1 } },
    },
    {
      says: 'no more effects under the key: the final answer',
      send: { path: '/v1/p/namespaces', headers: { 'Idempotency-Key': V7 } },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'the key is of version 7',
      send: { path: '/v1/p/namespaces', headers: { 'Idempotency-Key': TOKEN } },
      expect: { status: 400, ran: false, body: { error: { code: 400, type: 'BadRequestException' } } },
    },
    {
      says: 'and of no other operation',
      send: { path: '/v1/p/tables/rename', headers: { 'Idempotency-Key': V7 } },
      expect: { status: 400, ran: false },
    },
    {
      says: 'a conflict is final, and given again',
      send: { path: '/v1/p/namespaces', headers: { 'Idempotency-Key': V7.replace('017F', '017E') } },
      handler: { status: 409, body: '{"error":{"type":"AlreadyExistsException"}}' },
      expect: { status: 409, ran: true },
    },
    {
      says: 'a conflict is final, and given again',
      send: { path: '/v1/p/namespaces', headers: { 'Idempotency-Key': V7.replace('017F', '017E') } },
      expect: { status: 409, ran: false, body: { error: { type: 'AlreadyExistsException' } } },
    },
    {
      says: 'a 5xx is not kept; what may have been done is not run again',
      send: { path: '/v1/p/namespaces', headers: { 'Idempotency-Key': V7.replace('017F', '017D') } },
      handler: { status: 500, body: '{}' },
      expect: { status: 500, ran: true },
    },
    {
      says: 'a 5xx is not kept; what may have been done is not run again, and is no commit that has failed',
      send: { path: '/v1/p/namespaces', headers: { 'Idempotency-Key': V7.replace('017F', '017D') } },
      expect: { status: 500, ran: false, body: { error: { type: 'CommitStateUnknownException' } } },
    },
    {
      says: 'within the lifetime that is told it is there',
      after: 30 * MINUTE_MS - 1_000,
      send: { path: '/v1/p/namespaces', headers: { 'Idempotency-Key': V7 } },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
  ],
};

export const CLOUDS: readonly Spoken[] = [ofAws, ofAip, ofIceberg];
