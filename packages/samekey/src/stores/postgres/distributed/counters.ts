/** Counts of stored keys by caller. Shard 0 is made by a recount: a caller without it has never been counted. */

import type { Counters } from '../../../store/counters.ts';
import { afterCaller } from '../../../core/scope.ts';
import { number } from '../../sql/record-row.ts';
import type { Link } from '../link.ts';
import { textArray } from '../parameters.ts';
import { statement } from '../statements.ts';
import type { Layout } from './layout.ts';

/** Rows of one caller that processes spread over; a flush takes any of them but 0. */
const SHARDS = 16;

/** Makes them. `reads`: the connection for reads that may take long. */
export function createCounters(
  { records, counters }: Layout,
  links: { readonly upkeep: Link; readonly reads: Link },
  random: () => number,
): Counters {
  const add = statement(
    'plain_count_on',
    `INSERT INTO ${counters} AS c (scope, shard, count) VALUES ($1::text, $2::integer, $3::bigint)
ON CONFLICT (scope, shard) DO UPDATE SET count = c.count + excluded.count`,
  );
  const takeOff = statement(
    'plain_count_off',
    `UPDATE ${counters} SET count = count + $2::bigint WHERE scope = $1::text AND shard = 0`,
  );
  const read = statement(
    'plain_counts',
    `SELECT c.scope, c.shard, c.count FROM ${counters} c WHERE c.scope = ANY ($1::text[])`,
  );
  const recount = statement(
    'plain_recount',
    `SELECT count(*) FROM ${records} r WHERE r.scope = $1::text OR r.scope >= $2::text AND r.scope < $3::text`,
  );
  const clear = statement(
    'plain_counts_clear',
    `DELETE FROM ${counters} WHERE scope = $1::text AND shard <> 0`,
  );
  const set = statement(
    'plain_counts_set',
    `INSERT INTO ${counters} AS c (scope, shard, count) VALUES ($1::text, 0, $2::bigint)
ON CONFLICT (scope, shard) DO UPDATE SET count = excluded.count`,
  );

  return {
    async add(changes) {
      const shard = String(1 + Math.floor(random() * (SHARDS - 1)));
      await Promise.all(
        [...changes]
          .filter(([, change]) => change !== 0)
          .map(([caller, change]) =>
            change > 0
              ? links.upkeep.ask(add, [caller, shard, String(change)])
              : links.upkeep.ask(takeOff, [caller, String(change)]),
          ),
      );
    },
    async read(callers) {
      const counts = new Map<string, number>();
      if (callers.length === 0) return counts;
      const counted = new Set<string>();
      for (const [scope, shard, count] of await links.upkeep.ask(read, [textArray(callers)])) {
        if (number(shard) === 0) counted.add(String(scope));
        counts.set(String(scope), (counts.get(String(scope)) ?? 0) + number(count));
      }
      return new Map(
        [...counts].filter(([scope]) => counted.has(scope)).map(([scope, n]) => [scope, Math.max(0, n)]),
      );
    },
    async recount(caller) {
      const [row] = await links.reads.ask(recount, [caller, `${caller}|`, afterCaller(caller)]);
      const count = number(row?.[0] ?? 0);
      await links.reads.together(async (ask) => {
        await ask(clear, [caller]);
        await ask(set, [caller, String(count)]);
      });
      return count;
    },
  };
}
