/** Counts of stored keys by caller on PostgreSQL. */

import type { Counters, Counts } from '../../store/counters.ts';
import { afterCaller } from '../../core/scope.ts';
import { number } from '../sql/record-row.ts';
import type { Link } from './link.ts';
import { textArray } from './parameters.ts';
import type { SqlValue, Statement } from './client.ts';
import { statement } from './statements.ts';
import type { Tables } from './tables.ts';

/** Rows of one caller that processes spread over; a flush takes any of them but 0. */
const SHARDS = 16;

/** Makes them. `reads`: the connection for reads that may take long. */
export function createCounters(
  tables: Tables,
  links: { readonly upkeep: Link; readonly reads: Link },
  random: () => number,
): Counters {
  const { upkeep, reads } = links;
  const add = addStatement(tables);
  const takeOff = takeOffStatement(tables);
  const read = readStatement(tables);
  const recount = recountStatement(tables);

  return {
    async add(changes) {
      const entries = [...changes].toSorted(([a], [b]) => (a < b ? -1 : 1));
      const more = entries.filter(([, change]) => change > 0);
      const less = entries.filter(([, change]) => change < 0);
      const shard = 1 + Math.floor(random() * (SHARDS - 1));
      if (more.length > 0) await upkeep.ask(add, [...columns(more), String(shard)]);
      if (less.length > 0) await upkeep.ask(takeOff, columns(less));
    },
    async read(callers): Promise<Counts> {
      if (callers.length === 0) return new Map();
      const rows = await upkeep.ask(read, [textArray(callers)]);
      return new Map(rows.map((row) => [String(row[0]), Math.max(0, number(row[1]))]));
    },
    async recount(caller) {
      const rows = await reads.ask(recount, [caller, `${caller}|`, afterCaller(caller)]);
      return number(rows[0]?.[0] ?? 0);
    },
  };
}

function columns(entries: readonly (readonly [caller: string, change: number])[]): SqlValue[] {
  return [
    textArray(entries.map(([caller]) => caller)),
    textArray(entries.map(([, change]) => String(change))),
  ];
}

/** In the order of callers, so that two flushes of one shard do not wait for each other in a circle. */
function addStatement({ counters }: Tables): Statement {
  return statement(
    'count',
    `INSERT INTO ${counters} AS c (scope, shard, count)
SELECT q.scope, $3::int, q.n::bigint FROM unnest($1::text[], $2::text[]) AS q (scope, n) ORDER BY q.scope
ON CONFLICT (scope, shard) DO UPDATE SET count = c.count + excluded.count`,
  );
}

/**
 * From those that have been counted, the others are left out. Row by row, by the index: joined to the table, it would
 * read the counts of all callers. In the order it is given, the same in every process. As an insert too: an update of
 * rows that a first part of the same statement has locked misses some rows that others changed meanwhile (of 1,600 from
 * four sessions at once, 54 were lost).
 */
function takeOffStatement({ counters }: Tables): Statement {
  return statement(
    'count_off',
    `INSERT INTO ${counters} AS c (scope, shard, count)
SELECT q.scope, 0, q.n::bigint FROM unnest($1::text[], $2::text[]) AS q (scope, n)
CROSS JOIN LATERAL (SELECT true AS known FROM ${counters} k WHERE k.scope = q.scope AND k.shard = 0 LIMIT 1) k
ON CONFLICT (scope, shard) DO UPDATE SET count = c.count + excluded.count`,
  );
}

function readStatement({ counters }: Tables): Statement {
  return statement(
    'counts',
    `SELECT c.scope, sum(c.count)::bigint FROM ${counters} c WHERE c.scope = ANY ($1::text[])
GROUP BY c.scope HAVING bool_or(c.shard = 0)`,
  );
}

/** What is added while it counts is in its records or comes later: it is off by no more than that. */
function recountStatement({ counters, records }: Tables): Statement {
  return statement(
    'recount',
    `WITH n AS MATERIALIZED (SELECT (SELECT count(*) FROM ${records} r WHERE r.scope = $1::text) +
  (SELECT count(*) FROM ${records} r WHERE r.scope >= $2::text AND r.scope < $3::text) AS n),
gone AS (DELETE FROM ${counters} c WHERE c.scope = $1::text AND c.shard <> 0)
INSERT INTO ${counters} AS c (scope, shard, count) SELECT $1::text, 0, n.n FROM n
ON CONFLICT (scope, shard) DO UPDATE SET count = excluded.count RETURNING c.count`,
  );
}
