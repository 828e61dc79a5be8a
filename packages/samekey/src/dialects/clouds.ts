/**
 * Clouds, and what data is kept in.
 *
 * Sources: docs/reference/dialects.md has every page, with the day on which it was read.
 */

import type { Dialect } from '../http/dialect.ts';
import { envelope } from '../http/profiles/errors-by-data.ts';
import { UNDONE_OR_UNKNOWN } from './remarks.ts';
import { MINUTE_MS } from './times.ts';

/** Client tokens of AWS: a member of the body. Each service names them in its own way, and keeps them as it says. */
export const awsClientToken: Dialect = {
  name: 'aws-client-token',
  operation: {},
  route: {
    keyIn: { body: '/clientToken' },
    key: { lengthMax: 64 },
    keyUniqueFor: 'operation',
    profile: envelope({
      name: 'aws-client-token',
      body: { __type: '$code', message: '$message' },
      spelling: 'KeyReused',
      cases: {
        anonymous: { code: 'AccessDeniedException' },
        'key-missing': { code: 'ValidationException' },
        'key-malformed': { code: 'ValidationException' },
        'request-invalid': { code: 'ValidationException' },
        'key-reused': {
          status: 400,
          code: 'IdempotentParameterMismatch',
          message: 'The request uses the same client token as a previous, but non-identical request.',
        },
        limited: { code: 'ThrottlingException' },
      },
    }),
  },
};

/** AIP-155 of Google: `request_id`, a version 4 UUID, in the query; with `body: "*"` it is a member of the body. */
export const aip155: Dialect = {
  name: 'aip-155',
  operation: {},
  route: {
    keyIn: { query: 'requestId' },
    key: { uuidOnly: 4 },
    profile: envelope({
      name: 'aip-155',
      body: { error: { code: '$status', message: '$message', status: '$type' } },
      types: {
        403: 'PERMISSION_DENIED',
        409: 'ABORTED',
        429: 'RESOURCE_EXHAUSTED',
        503: 'UNAVAILABLE',
        '4xx': 'INVALID_ARGUMENT',
        '5xx': 'INTERNAL',
      },
      cases: {
        'key-reused': { status: 400 },
        // ABORTED asks to start over, which may make a second request of it; UNAVAILABLE asks to send this one again.
        'in-progress': { status: 503 },
        'outcome-unknown': { status: 503 },
      },
    }),
  },
};

/** The REST catalog of Apache Iceberg: UUIDs of version 7, for the lifetime that `/v1/config` tells: half an hour. */
export const icebergRest: Dialect = {
  name: 'iceberg-rest',
  remark: UNDONE_OR_UNKNOWN,
  operation: { policy: 'payments', retentionMs: 30 * MINUTE_MS, retryWindowMs: 30 * MINUTE_MS },
  route: {
    header: 'Idempotency-Key',
    key: { uuidOnly: 7 },
    keyUniqueFor: 'caller',
    methods: ['POST', 'DELETE'],
    profile: envelope({
      name: 'iceberg-rest',
      body: { error: { message: '$message', type: '$type', code: '$status' } },
      types: {
        403: 'ForbiddenException',
        409: 'CommitFailedException',
        503: 'ServiceUnavailableException',
        '4xx': 'BadRequestException',
        '5xx': 'InternalServerError',
      },
      cases: {
        'key-reused': { status: 400 },
        // By a 409 a client believes that its commit has failed, and makes another one.
        'in-progress': { status: 503 },
        'outcome-unknown': { status: 500, type: 'CommitStateUnknownException' },
      },
    }),
  },
};
