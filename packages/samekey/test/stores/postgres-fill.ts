/** Many records at once. */

import type { Client } from 'pg';

export const MILLION = 1_000_000;

/** Expired records, without telling the planner. */
export async function fill(admin: Pick<Client, 'query'>, records: number): Promise<void> {
  // As dense as it gets: what counts here is the number of rows, not their room to grow.
  await admin.query('ALTER TABLE samekey_records SET (fillfactor = 100)');
  await admin.query(
    `INSERT INTO samekey_records (scope, key, operation, state, attempt, claim_id, locked_until, claim_ttl_ms, renewals,
       when_claim_ends, format_version, created_at, expires_at, replay_min_ms, attempt_max, tombstone_ms, reap_after)
     SELECT 's', 'k' || $1::int || '-' || n, 'o', 'completed', 1, 'c', t, 1, 0, 'unknown', 1, t, t, 0, 10, 0, t
     FROM generate_series(1, $1::int) AS n, LATERAL (SELECT now() - interval '1 day' + n * interval '1 ms' AS t) AS t`,
    [records],
  );
}
