/**
 * What standards say, and guidelines that many APIs follow.
 *
 * Sources: draft-ietf-httpapi-idempotency-key-header-07;
 * https://github.com/zalando/restful-api-guidelines (rules 176 and 230).
 */

import type { Dialect } from '../http/dialect.ts';
import { ietf } from '../http/profiles/ietf.ts';
import { DAY_MS } from './times.ts';

/** The IETF's draft 07: a quoted key; 400, 409 and 422 as problem documents. Retention and 5xx are left open. */
export const ietfDraft07: Dialect = {
  name: 'ietf-draft-07',
  operation: {},
  route: { header: 'Idempotency-Key', key: { mode: 'strict' }, profile: ietf() },
};

/** Zalando's guidelines: 24 hours, every first answer is kept, 400 for another request under a known key. */
export const zalando: Dialect = {
  name: 'zalando',
  operation: { policy: 'stripe', retentionMs: DAY_MS },
  route: { header: 'Idempotency-Key', profile: ietf({ mismatchStatus: 400 }) },
};
