/**
 * The SQL of erasing. Records of one caller lie together in the unique index, in two ranges of it (`scopeRanges`): both
 * are walked in LATERAL subqueries, as everywhere.
 */

import { ERASED, NEVER } from '../../../store/machine/index.ts';
import { AUDIT_COLUMNS } from '../../sql/audit-row.ts';
import type { Statement } from '../client.ts';
import { unreferring } from '../references/references-parts.ts';
import { placed, statement } from '../statements.ts';
import { instant, type Tables } from '../tables.ts';

/** As `isErased`: nothing else has such a claimId. */
const NOT_ERASED = `left(r.claim_id, 7) <> 'erased:'`;

const RANGES = 'unnest($1::text[], $2::text[]) AS q (lo, hi)';

/** As `decideErase`: at most $3 records from $1 up to $2, for the reason $4, by $5. Gives how many. */
export function eraseStatement(tables: Tables): Statement {
  const { records, messages, audit, clock } = tables;
  return statement(
    'erase',
    `WITH ${clock}, idle AS MATERIALIZED (SELECT r.tid, r.scope, r.key, r.state FROM ${RANGES}
  CROSS JOIN LATERAL (SELECT r.ctid AS tid, r.scope, r.key, r.state FROM ${records} r WHERE r.scope >= q.lo AND r.scope < q.hi AND ${NOT_ERASED}
    AND (r.state IN ('completed', 'failed') OR r.state = 'retryable' AND r.intent_at IS NULL
      OR r.state = 'pending' AND r.attempt = 0)
    LIMIT $3::int FOR NO KEY UPDATE SKIP LOCKED) r LIMIT $3::int),
emptied AS (UPDATE ${records} r SET state = CASE WHEN r.state = 'completed' THEN 'completed' ELSE 'failed' END,
  claim_id = 'erased:' || r.claim_id, proof = NULL, reason = '${ERASED}', response_status = NULL, response_headers = NULL,
  response_trailers = NULL, response_body = NULL, fingerprint_label = NULL, fingerprint_digest = NULL, seal_key_id = NULL,
  finished_at = coalesce(r.finished_at, t.now), expires_at = ${instant(String(NEVER))}, tombstone_ms = 0,
  reap_after = ${instant(String(NEVER))}, watched = false, recovery_point = NULL, steps = NULL, intent_at = NULL, input = NULL
  FROM t, idle WHERE ${placed('idle')}
  RETURNING t.now, r.scope, r.key, r.operation, r.attempt, idle.state AS from_state, r.state AS to_state),
noted AS (INSERT INTO ${audit} (at, ${AUDIT_COLUMNS.join(', ')})
  SELECT e.now, e.scope, e.key, e.operation, e.attempt, 'erase', e.from_state, e.to_state, $4::text, $5::text FROM emptied e),
dropped AS (DELETE FROM ${messages} m USING emptied e WHERE m.scope = e.scope AND m.key = e.key AND m.state = 'dead'),
${unreferring(tables, 'emptied')}
SELECT count(*) FROM emptied`,
  );
}

/** How many records from $1 up to $2 still hold something. */
export function countNotErasedStatement({ records }: Tables): Statement {
  return statement(
    'count_not_erased',
    `SELECT coalesce(sum(r.n), 0) FROM ${RANGES}
CROSS JOIN LATERAL (SELECT count(*) AS n FROM ${records} r WHERE r.scope >= q.lo AND r.scope < q.hi AND ${NOT_ERASED}) r`,
  );
}
