/**
 * What standards say, and guidelines that many APIs follow.
 *
 * Sources: draft-ietf-httpapi-idempotency-key-header-07;
 * https://github.com/zalando/restful-api-guidelines (rules 176 and 230); OASIS Repeatable Requests 1.0.
 */

import type { Dialect } from '../http/dialect.ts';
import { ietf } from '../http/profiles/ietf.ts';
import { envelope } from '../http/profiles/errors-by-data.ts';
import { DAY_MS, MINUTE_MS } from './times.ts';

const ACCEPTED = [['Repeatability-Result', 'accepted']] as const;

/** The IETF's draft 07: a quoted key; 400, 409 and 422 as problem documents. Retention and 5xx are left open. */
export const ietfDraft07: Dialect = {
  name: 'ietf-draft-07',
  operation: {},
  route: { header: 'Idempotency-Key', key: { mode: 'strict' }, profile: ietf() },
};

/**
 * OASIS Repeatable Requests 1.0, as Azure has it: an id, and when it was first sent. What was first sent more than five
 * minutes ago is refused (412), since its id may be forgotten. Operations that do not support it answer 501 themselves.
 */
export const oasisRepeatable: Dialect = {
  name: 'oasis-repeatable',
  operation: {},
  route: {
    header: 'Repeatability-Request-ID',
    key: { uuidOnly: true },
    fingerprint: { headers: ['Repeatability-First-Sent'] },
    firstSent: { header: 'Repeatability-First-Sent', windowMs: 5 * MINUTE_MS },
    profile: envelope({
      name: 'oasis-repeatable',
      body: { error: { code: '$code', message: '$message' } },
      spelling: 'KeyReused',
      cases: {
        'key-reused': { status: 400 },
        'request-time-invalid': { message: 'Repeatability-First-Sent is no valid time.' },
        'request-too-old': {
          status: 412,
          message: 'Repeatability-First-Sent lies outside of the time that is tracked.',
        },
        'in-progress': { headers: ACCEPTED },
        'outcome-unknown': { headers: ACCEPTED },
        pending: { headers: ACCEPTED },
        'response-not-stored': { headers: ACCEPTED },
      },
      handlerHeaders: ACCEPTED,
      errorHeaders: [['Repeatability-Result', 'rejected']],
    }),
  },
};

/** Zalando's guidelines: 24 hours, every first answer is kept, 400 for another request under a known key. */
export const zalando: Dialect = {
  name: 'zalando',
  operation: { policy: 'stripe', retentionMs: DAY_MS },
  route: { header: 'Idempotency-Key', profile: ietf({ mismatchStatus: 400 }) },
};
