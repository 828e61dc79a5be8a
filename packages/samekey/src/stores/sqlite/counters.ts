/** Counts of stored keys by caller on SQLite. */

import type { Counters } from '../../store/counters.ts';
import { afterCaller } from '../../core/scope.ts';
import { number } from '../sql/record-row.ts';
import type { Connection } from './client.ts';
import type { Writer } from './writer.ts';

const SET =
  'INSERT INTO samekey_counters (scope, shard, count) VALUES (?, 0, ?) ON CONFLICT (scope, shard) DO UPDATE SET count = excluded.count';
const SELECT = 'SELECT count FROM samekey_counters WHERE scope = ? AND shard = 0';
/**
 * A caller that was never counted is not counted by what comes later. Below zero for a moment: reaped before it was
 * added.
 */
const ADD = 'UPDATE samekey_counters SET count = count + ? WHERE scope = ? AND shard = 0';
const COUNT =
  'SELECT (SELECT count(*) FROM samekey_records WHERE scope = ?) + ' +
  '(SELECT count(*) FROM samekey_records WHERE scope >= ? AND scope < ?) AS n';

/** Makes them. */
export function createCounters(connection: Connection, writer: Writer): Counters {
  return {
    async add(changes) {
      const known = await writer.read(() =>
        [...changes].filter(([caller]) => connection.get(SELECT, caller) !== undefined),
      );
      if (known.length === 0) return;
      await writer.write(() => {
        for (const [caller, change] of known) connection.run(ADD, change, caller);
      });
    },
    read: (callers) =>
      writer.read(() => {
        const counts = new Map<string, number>();
        for (const caller of callers) {
          const row = connection.get(SELECT, caller);
          if (row !== undefined) counts.set(caller, Math.max(0, number(row['count'])));
        }
        return counts;
      }),
    recount: (caller) =>
      writer.write(() => {
        const n = number(connection.get(COUNT, caller, `${caller}|`, afterCaller(caller))?.['n'] ?? 0);
        connection.run(SET, caller, n);
        return n;
      }),
  };
}
