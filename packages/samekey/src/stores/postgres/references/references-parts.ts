/** References are written and deleted by parts of the statements that write and delete their records. */

import type { Tables } from '../tables.ts';

/**
 * Writes the references of the rows `from`, which has `reference` (null for none), `scope`, `key`, `created_at`,
 * `attempt` and `effect`; and deletes what an earlier life of the key has left. A row is never both: one statement must
 * not touch it twice.
 */
export function referring({ references }: Tables, from: string): string {
  return `earlier AS (DELETE FROM ${references} f USING ${from} n WHERE n.reference IS NOT NULL
  AND f.scope = n.scope AND f.key = n.key AND f.created_at <> n.created_at AND f.reference <> n.reference),
referred AS (INSERT INTO ${references} (reference, scope, key, created_at, attempt, effect)
  SELECT n.reference, n.scope, n.key, n.created_at, n.attempt, n.effect FROM ${from} n WHERE n.reference IS NOT NULL
  ON CONFLICT (reference, scope, key) DO UPDATE
  SET created_at = excluded.created_at, attempt = excluded.attempt, effect = excluded.effect)`;
}

/** Deletes those of the records `from`, which the same statement deletes or empties. */
export function unreferring({ references }: Tables, from: string): string {
  return `unreferred AS (DELETE FROM ${references} f USING ${from} g WHERE f.scope = g.scope AND f.key = g.key)`;
}

/** What of a record `r` goes into its references, of the row `q` that carries its fence. */
export function ownRecord({ records }: Tables, q: string, more = ''): string {
  return `(SELECT r.scope, r.key, r.created_at, r.attempt FROM ${records} r WHERE r.scope = ${q}.scope AND r.key = ${q}.key
    AND r.claim_id = ${q}.claim_id AND r.attempt = ${q}.attempt ${more})`;
}
