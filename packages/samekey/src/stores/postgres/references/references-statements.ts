/** The SQL of looks at references. It names narrow columns only, so nothing that is stored out of line is fetched. */

import { forgottenClaimId } from '../../../core/record.ts';
import type { Statement } from '../client.ts';
import { statement } from '../statements.ts';
import { milliseconds, type Tables } from '../tables.ts';

/**
 * Where the references $1 lead, at most $2. Which life it is is asked of the record that was found: the index on
 * created_at is not its way.
 */
export function findReferredStatement({ records, references }: Tables): Statement {
  const forgotten = forgottenClaimId('');
  return statement(
    'find_referred',
    `SELECT f.scope, f.key, r.operation, ${milliseconds('f.created_at')}, f.attempt, f.effect
FROM unnest($1::text[]) AS q (reference)
CROSS JOIN LATERAL (SELECT f.* FROM ${references} f WHERE f.reference = q.reference LIMIT $2::int) f
CROSS JOIN LATERAL (SELECT r.operation, r.created_at, r.claim_id FROM ${records} r
  WHERE r.scope = f.scope AND r.key = f.key LIMIT 1) r
WHERE r.created_at = f.created_at AND left(r.claim_id, ${forgotten.length}) <> '${forgotten}'
LIMIT $2::int`,
  );
}

/** Records of the operations $1 with an open intent, at most $2. */
export function callsStatement({ records }: Tables): Statement {
  return statement(
    'calls_under_way',
    `SELECT r.scope, r.key, r.operation, r.state, r.claim_id, ${milliseconds('r.locked_until')}, r.steps FROM ${records} r
WHERE r.intent_at IS NOT NULL AND r.operation = ANY ($1::text[]) AND r.state IN ('in_progress', 'unknown', 'retryable')
LIMIT $2::int`,
  );
}

/** Leased messages of pending records of the operations $1 that have noted no id, at most $2. */
export function deliveriesStatement({ records, messages }: Tables): Statement {
  return statement(
    'deliveries_under_way',
    `SELECT r.scope, r.key, r.operation, r.state, coalesce(m.lease_id, m.claim_id), 0, NULL FROM ${messages} m
CROSS JOIN LATERAL (SELECT r.scope, r.key, r.operation, r.state FROM ${records} r WHERE r.scope = m.scope AND r.key = m.key LIMIT 1) r
WHERE m.state = 'leased' AND m.scope IS NOT NULL AND m.provider_id IS NULL
  AND r.state = 'pending' AND r.operation = ANY ($1::text[])
LIMIT $2::int`,
  );
}
