/** Counts of stored keys by caller on MySQL. */

import type { Counters } from '../../store/counters.ts';
import { afterCaller } from '../../core/scope.ts';
import { number } from '../sql/record-row.ts';
import type { Link } from './link.ts';
import { bytesOf, decoded, numberOf } from './literals.ts';
import type { Tables } from './tables.ts';

/** Rows of one caller that processes spread over; a flush takes any of them but 0. */
const SHARDS = 16;

/** Makes them. `reads`: the connection for reads that may take long. */
export function createCounters(
  { records, counters }: Tables,
  links: { readonly upkeep: Link; readonly reads: Link },
  random: () => number,
): Counters {
  return {
    async add(changes) {
      // In the order of callers, so that two flushes of one shard do not wait for each other in a circle.
      const entries = [...changes].toSorted(([a], [b]) => (a < b ? -1 : 1));
      const more = entries.filter(([, change]) => change > 0);
      const less = entries.filter(([, change]) => change < 0);
      const shard = numberOf(1 + Math.floor(random() * (SHARDS - 1)));
      await links.upkeep.together(async (ask) => {
        if (more.length > 0) {
          const rows = more.map(([caller, change]) => `(${bytesOf(caller)}, ${shard}, ${numberOf(change)})`);
          await ask(
            `INSERT INTO ${counters} (scope, shard, count) VALUES ${rows.join(', ')} ON DUPLICATE KEY UPDATE count = count + VALUES(count)`,
          );
        }
        // Callers that were never counted have no such row.
        for (const [caller, change] of less)
          await ask(
            `UPDATE ${counters} SET count = count + ${numberOf(change)} WHERE scope = ${bytesOf(caller)} AND shard = 0`,
          );
      });
    },
    async read(callers) {
      if (callers.length === 0) return new Map();
      const rows = await links.upkeep.alone((ask) =>
        ask(
          `SELECT scope, CAST(SUM(count) AS SIGNED) FROM ${counters} WHERE scope IN (${callers.map(bytesOf).join(', ')}) ` +
            'GROUP BY scope HAVING SUM(shard = 0) > 0',
        ),
      );
      return new Map(rows.map((row) => [String(decoded(row[0])), Math.max(0, number(row[1]))]));
    },
    recount: (caller) =>
      links.reads.together(async (ask) => {
        const scope = bytesOf(caller);
        const [from, to] = [bytesOf(`${caller}|`), bytesOf(afterCaller(caller))];
        const rows = await ask(
          `SELECT COUNT(*) FROM ${records} WHERE scope = ${scope} OR scope >= ${from} AND scope < ${to}`,
        );
        const count = number(rows[0]?.[0] ?? 0);
        await ask(`DELETE FROM ${counters} WHERE scope = ${scope} AND shard <> 0`);
        await ask(
          `INSERT INTO ${counters} (scope, shard, count) VALUES (${scope}, 0, ${numberOf(count)}) ON DUPLICATE KEY UPDATE count = VALUES(count)`,
        );
        return count;
      }),
  };
}
