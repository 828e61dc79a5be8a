/**
 * Whose turn it is on a database file in this process. Clients are synchronous on one connection, so a flush of ours
 * runs from BEGIN to COMMIT without a gap; a user's transaction spans awaits, and everything a connection is told in
 * between falls into it. So transactions are the ones that hold the turn, one at a time and in order of arrival;
 * flushes wait until none is open and then run at once, before the next transaction begins: renewals never queue behind
 * a line of them.
 *
 * Invariants: at most one transaction holds the turn · whoever waits leaves at its bound · one turn per client object
 * and per file, so two stores on one client, and two connections to one file, share it.
 */

import { registered } from '../../core/registered.ts';
import type { SqliteDatabase } from './client.ts';

/** The turn of one file. */
export interface Turns {
  /** The client whose transaction is open. */
  readonly holder: SqliteDatabase | undefined;
  /** Waits in line for up to `waitMaxMs`; undefined when that was not enough. */
  enter(waitMaxMs: number): Promise<Turn | undefined>;
  /** Resolves when the open transaction ends, or after `waitMaxMs`. */
  ended(waitMaxMs: number): Promise<void>;
}

/** First in line. */
export interface Turn {
  /** The transaction is open from now on. */
  hold(database: SqliteDatabase): void;
  /** It is over; the next in line follows. */
  leave(): void;
}

function createTurns(): Turns {
  let holder: SqliteDatabase | undefined;
  let last: Promise<void> = Promise.resolve();
  const waiting = new Set<() => void>();

  return {
    get holder() {
      return holder;
    },
    async enter(waitMaxMs) {
      const before = last;
      let leave: (() => void) | undefined;
      last = new Promise((resolve) => {
        leave = resolve;
      });
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<'late'>((resolve) => {
        timer = setTimeout(() => resolve('late'), waitMaxMs);
      });
      const first = await Promise.race([before, late]);
      clearTimeout(timer);
      if (first === 'late') {
        // Its place in line closes when it is reached, so the order of the others stays.
        void before.then(() => leave?.());
        return undefined;
      }
      return {
        hold(database) {
          holder = database;
        },
        leave() {
          holder = undefined;
          for (const wake of waiting) wake();
          waiting.clear();
          leave?.();
        },
      };
    },
    ended(waitMaxMs) {
      return new Promise((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, waitMaxMs);
        waiting.add(wake);
      });
    },
  };
}

// Shared by all copies of this package: two of them on one connection would each begin in the other's transaction.
const byClient = registered('sqliteTurns', () => new WeakMap<SqliteDatabase, Turns>());
/** Holds one small object per file this process ever opened. */
const byPath = registered('sqliteTurnsByPath', () => new Map<string, Turns>());

/** The turns of a client and its file; `path` is empty for a database in memory, which only its client reaches. */
export function turnsOf(database: SqliteDatabase, path: string): Turns {
  const turns = byClient.get(database) ?? byPath.get(path) ?? createTurns();
  byClient.set(database, turns);
  if (path !== '') byPath.set(path, turns);
  return turns;
}
