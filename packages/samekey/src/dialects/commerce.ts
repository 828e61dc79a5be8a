/**
 * Protocols by which agents buy.
 *
 * Sources: docs/reference/dialects.md has every page, with the day on which it was read.
 */

import type { Dialect } from '../http/dialect.ts';
import { envelope } from '../http/profiles/errors-by-data.ts';
import { DAY_MS } from './times.ts';

/**
 * The Agentic Commerce Protocol. A 5xx is never stored and runs again: here only one whose work is proven to be undone;
 * of any other nobody knows the outcome, and its key stays blocked.
 */
export const acp: Dialect = {
  name: 'acp',
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
