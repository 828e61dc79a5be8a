/**
 * The records in hash partitions, for tables that are too large for one index or one vacuum at a time: a choice of the
 * first migration, which makes the table. What the later ones say of the table reaches its partitions by itself.
 *
 * By (scope, key), which a unique constraint of a partitioned table must hold: so the keys of one caller are spread,
 * and a look-up goes to one partition. Storage parameters belong to partitions; the table itself takes none.
 * Source: https://www.postgresql.org/docs/current/ddl-partitioning.html#DDL-PARTITIONING-DECLARATIVE-LIMITATIONS.
 */

import type { Tables } from '../tables.ts';

/** More than that, and planning each statement costs more than the smaller indexes save. */
export const PARTITIONS_MAX = 256;

const STORAGE = /\) WITH \(([^)]*)\)$/;

/** The statements that make the table, so that they make it with so many partitions; 0 for none. */
export function inPartitions(
  statements: readonly string[],
  { records }: Tables,
  partitions: number,
): readonly string[] {
  if (partitions === 0) return statements;
  return statements.flatMap((text) => {
    const storage = text.startsWith(`CREATE TABLE ${records} (`) ? STORAGE.exec(text)?.[1] : undefined;
    if (storage === undefined) return [text];
    const table = text.replace(STORAGE, ') PARTITION BY HASH (scope, key)');
    return [table, ...parts(records, partitions, storage)];
  });
}

function parts(records: string, partitions: number, storage: string): readonly string[] {
  return Array.from(
    { length: partitions },
    (_, n) =>
      `CREATE TABLE ${records}_${n} PARTITION OF ${records} FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${n}) WITH (${storage})`,
  );
}
