/**
 * Time in a store that has no clock of its own (semantics §3). Two clocks, never mixed:
 *
 * - `now`, for what is written (created, expires): the wall clock, but never before `last_now`, which every process that
 *   writes moves on in the file. A process whose clock is behind, or stepped back, writes no record that is born expired.
 *   A clock far ahead moves the file's time ahead for all: records then expire early by that much, never are claims ended.
 * - the watch, for what ends claims: a claim is over only when this process itself has seen it (life, attempt, claimId,
 *   renewals) stand still for the claim's length on its own monotonic clock. Wrong wall clocks cannot take a claim away (F45); a process
 *   that has just started must watch for one claim's length first.
 */

export {
  type ClaimWatch,
  createClaimWatch,
  heldBack,
  type WatchedClaim,
  WATCHED_MAX,
} from '../../core/claim-watch.ts';
import { number } from '../sql/record-row.ts';
import { SELECT_LAST_NOW, UPDATE_LAST_NOW } from './statements.ts';
import type { Connection } from './sqlite-client.ts';

/** The store's `now`. */
export interface StoreClock {
  /** Inside a write transaction: the time of what it writes. */
  now(connection: Connection): number;
  /** Before a commit that wrote something: later transactions of every process see at least this time. */
  save(connection: Connection, now: number): void;
}

/** Makes the clock on a wall clock in milliseconds since 1970; whole milliseconds are kept. */
export function createStoreClock(wallNow: () => number): StoreClock {
  return {
    now: (connection) =>
      Math.max(Math.floor(wallNow()), number(connection.get(SELECT_LAST_NOW)?.['value'] ?? 0)),
    save: (connection, now) => void connection.run(UPDATE_LAST_NOW, now, now),
  };
}
