/**
 * Protocols by which agents buy.
 *
 * Sources: docs/reference/dialects.md has every page, with the day on which it was read.
 */

import type { Dialect } from '../http/dialect.ts';
import { envelope } from '../http/profiles/errors-by-data.ts';
import { ietf } from '../http/profiles/ietf.ts';
import { UNDONE_OR_UNKNOWN } from './remarks.ts';
import { DAY_MS } from './times.ts';

/**
 * The Agentic Commerce Protocol. A 5xx is never stored and runs again: here only one whose work is proven to be undone;
 * of any other nobody knows the outcome, and its key stays blocked.
 */
export const acp: Dialect = {
  name: 'acp',
  remark: UNDONE_OR_UNKNOWN,
  operation: { policy: 'payments', retentionMs: DAY_MS },
  route: {
    header: 'Idempotency-Key',
    key: { lengthMax: 255 },
    keyUniqueFor: 'operation',
    methods: ['POST'],
    required: true,
    profile: envelope({
      name: 'acp',
      body: { type: '$type', code: '$code', message: '$message' },
      types: { '4xx': 'invalid_request', 503: 'service_unavailable', '5xx': 'processing_error' },
      cases: {
        'key-missing': {
          code: 'idempotency_key_required',
          message: 'Idempotency-Key header is required on all POST requests',
        },
        'key-reused': {
          code: 'idempotency_conflict',
          message: 'Idempotency-Key has already been used with a different request body',
        },
        'in-progress': {
          code: 'idempotency_in_flight',
          message: 'A request with this Idempotency-Key is currently being processed',
        },
      },
      keyHeader: 'Idempotency-Key',
      replayHeaders: [['Idempotent-Replayed', 'true']],
    }),
  },
};

/** The Universal Commerce Protocol over REST. Its MCP tools are protected by `samekey.run` (see the guide). */
export const ucp: Dialect = {
  name: 'ucp',
  operation: { retentionMs: DAY_MS },
  route: {
    header: 'Idempotency-Key',
    key: { lengthMin: 22 },
    keyUniqueFor: 'operation',
    profile: envelope({
      name: 'ucp',
      body: { code: '$code', content: '$message' },
      cases: { 'key-reused': { status: 409 } },
    }),
  },
};

/**
 * The Ad Context Protocol: a member of the task, kept for a day and then refused. Only a success is stored; what failed
 * runs again, where its work is proven to be undone. Its MCP tools are protected by `samekey.run` (see the guide).
 */
export const adcp: Dialect = {
  name: 'adcp',
  remark: UNDONE_OR_UNKNOWN,
  operation: {
    policy: {
      name: 'adcp',
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
    retentionMs: DAY_MS,
    tombstoneMs: 7 * DAY_MS,
  },
  route: {
    keyIn: { body: '/idempotency_key' },
    key: { lengthMin: 16, lengthMax: 255 },
    keyUniqueFor: 'caller',
    required: true,
    fingerprint: {
      omit: ['/context', '/governance_context', '/push_notification_config/authentication/credentials'],
    },
    profile: envelope({
      name: 'adcp',
      body: { adcp_error: { code: '$code', message: '$message', recovery: '$type', field: '$param' } },
      spelling: 'KEY_REUSED',
      types: {
        202: 'transient',
        409: 'transient',
        429: 'transient',
        '4xx': 'correctable',
        '5xx': 'transient',
      },
      cases: {
        anonymous: { code: 'AUTH_MISSING' },
        'key-missing': { code: 'INVALID_REQUEST' },
        'key-malformed': { code: 'INVALID_REQUEST' },
        'body-malformed': { code: 'INVALID_REQUEST' },
        'request-invalid': { code: 'INVALID_REQUEST' },
        'store-unavailable': { code: 'SERVICE_UNAVAILABLE' },
        'key-expired': { code: 'IDEMPOTENCY_EXPIRED' },
        'key-reused': { code: 'IDEMPOTENCY_CONFLICT' },
        'in-progress': { code: 'IDEMPOTENCY_IN_FLIGHT' },
        limited: { code: 'RATE_LIMITED' },
      },
    }),
  },
};

/** x402 with the extension `payment-identifier`: its id, in the payload that a payment's header carries. */
export const x402: Dialect = {
  name: 'x402',
  operation: {},
  route: {
    keyIn: { header: 'PAYMENT-SIGNATURE', member: '/extensions/payment-identifier/info/id' },
    key: { lengthMin: 16, lengthMax: 128 },
    fingerprint: { headers: ['PAYMENT-SIGNATURE'] },
    profile: ietf({ mismatchStatus: 409 }),
  },
};
