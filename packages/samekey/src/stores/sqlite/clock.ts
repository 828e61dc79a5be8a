/**
 * Time in a store that has no clock of its own (contract §3.5). Two kinds, never mixed:
 *
 * - times that are written and compared (`store/time/shared-time.ts`): what all processes have seen is `last_now` in
 *   the file, which every process that writes moves on.
 * - the watch, for what ends claims: a claim is over only when this process itself has seen it (life, attempt, claimId,
 *   renewals) stand still for the claim's length on its own monotonic clock. Wrong wall clocks cannot take a claim away
 *   (F45); a process that has just started must watch for one claim's length first.
 */

import { createSharedTime, type SharedTime, type SharedTimes } from '../../store/time/shared-time.ts';
import { number } from '../sql/record-row.ts';
import { SELECT_LAST_NOW, UPDATE_LAST_NOW } from './statements.ts';
import type { Connection } from './client.ts';

export {
  type ClaimWatch,
  createClaimWatch,
  heldBack,
  type WatchedClaim,
} from '../../store/time/claim-watch.ts';

/** The store's time. What is written inside a write transaction is later than anything that was written before. */
export interface StoreClock extends Pick<SharedTime, 'onOff'> {
  now(connection: Connection): number;
  times(connection: Connection): SharedTimes;
  /** Before a commit that wrote something: later transactions of every process see at least this time. */
  save(connection: Connection, now: number): void;
  /** Whether the file's time is so far behind that it is worth a write of its own. */
  isStale(connection: Connection): boolean;
}

/** A process that starts takes the file's time for the time: with nothing else to write, it is moved on so often. */
const STALE_MS = 60_000;

/** Makes the clock on a wall clock in milliseconds since 1970 and a monotonic one. */
export function createStoreClock(wallNow: () => number, monotonicNow: () => number): StoreClock {
  const time = createSharedTime(wallNow, monotonicNow);
  const times = (connection: Connection): SharedTimes => time.times(lastNow(connection));
  return {
    times,
    now: (connection) => times(connection).now,
    save: (connection, now) => void connection.run(UPDATE_LAST_NOW, now, now),
    isStale(connection) {
      const shared = lastNow(connection);
      return shared > 0 && time.times(shared).now - shared >= STALE_MS;
    },
    onOff: (told) => time.onOff(told),
  };
}

function lastNow(connection: Connection): number {
  return number(connection.get(SELECT_LAST_NOW)?.['value'] ?? 0);
}
