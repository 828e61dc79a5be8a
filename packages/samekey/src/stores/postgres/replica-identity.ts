/**
 * Tables in a publication (logical replication, change data capture, blue/green deployments) must name their rows:
 * PostgreSQL refuses UPDATE and DELETE on those that do not, so that records could be claimed and never finished (F75).
 * Ours do, by their primary keys, until somebody takes that away.
 * Source:
 * https://www.postgresql.org/docs/current/logical-replication-publication.html#LOGICAL-REPLICATION-PUBLICATION-REPLICA-IDENTITY.
 */

import { SchemaError } from '../../core/errors.ts';
import { type Ask, plain } from './client.ts';

/**
 * A publication of a partitioned table may name the table or its partitions; rows, and their identity, are the
 * partitions'.
 */
const NAMELESS = `WITH ours AS (
  SELECT t.oid, t.oid AS published FROM unnest($1::text[]::regclass[]) AS t (oid)
  UNION SELECT h.inhrelid, p.oid FROM pg_inherits h, unnest(ARRAY[h.inhparent, h.inhrelid]) AS p (oid)
    WHERE h.inhparent = ANY ($1::text[]::regclass[])
)
SELECT c.oid::regclass::text, min(p.pubname), c.relreplident::text FROM ours o
JOIN pg_class c ON c.oid = o.oid AND c.relkind = 'r'
JOIN pg_class k ON k.oid = o.published
JOIN pg_namespace n ON n.oid = k.relnamespace
JOIN pg_publication_tables t ON t.schemaname = n.nspname AND t.tablename = k.relname
JOIN pg_publication p ON p.pubname = t.pubname AND (p.pubupdate OR p.pubdelete)
WHERE c.relreplident <> 'f' AND NOT EXISTS (
  SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisvalid
    AND CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident ELSE false END)
GROUP BY c.oid, c.relreplident ORDER BY 1 LIMIT 1`;

/** Throws `SchemaError` when a publication has one of the tables, and its rows have no identity. */
export async function checkReplicaIdentity(ask: Ask, tables: readonly string[]): Promise<void> {
  const [row] = await ask(plain(NAMELESS), [`{${tables.map((table) => JSON.stringify(table)).join(',')}}`]);
  if (row === undefined) return;
  const [table, publication, identity] = row.map(String);
  const mend =
    identity === 'd'
      ? `give it its primary key back, with the SQL that postgresMigrations() prints, or ALTER TABLE ${table} REPLICA IDENTITY FULL`
      : `ALTER TABLE ${table} REPLICA IDENTITY DEFAULT`;
  throw new SchemaError(
    `The table ${table} is in the publication ${publication} and has no replica identity, so PostgreSQL refuses to update its rows and no record could be finished: ${mend}.`,
  );
}
