/**
 * What is known of the sessions on which users' transactions run. The user's client may go through a pooler although
 * the store's own do not, and there a statement's name means another statement, or none, which aborts the transaction:
 * so statements are prepared by name only in a session whose own process answers, and no more in one that has forgotten
 * a name.
 */

import { isSqlTransaction, type PostgresTransaction } from '../client.ts';

/** Sessions by the connections of their drivers. */
export interface LentSessions {
  /** Whether statements may be prepared in the session of this transaction, as far as is known. */
  canPrepare(tx: PostgresTransaction): boolean;
  /** Whether the session keeps the statement of this name prepared. */
  keeps(connection: object, name: string): boolean;
  /**
   * This process of the server has answered the transaction's first statement. `prepared`: its name; null where it was
   * not prepared; undefined where the session had kept it.
   */
  answered(tx: PostgresTransaction, pid: unknown, prepared: string | null | undefined): void;
  /** A session that has forgotten a name is never trusted again. */
  forgot(tx: PostgresTransaction): void;
}

/** The names that are prepared besides; null: it lost one. */
type Known = Set<string> | null;

/** `prepare`: what the user says of all of them; undefined: found out for each. */
export function createLentSessions(prepare: boolean | undefined): LentSessions {
  const known = new WeakMap<object, { names: Known }>();
  return {
    canPrepare(tx) {
      const key = keyOf(tx);
      const session = key === undefined ? undefined : known.get(key);
      if (session?.names === null) return false;
      return prepare ?? session !== undefined;
    },
    keeps: (connection, name) => known.get(connection)?.names?.has(name) === true,
    answered(tx, pid, prepared) {
      const key = keyOf(tx);
      const session = key === undefined ? undefined : known.get(key);
      if (key === undefined || prepare === false || session?.names === null) return;
      const greeted = isSqlTransaction(tx) ? tx.session?.pid : undefined;
      if (prepare !== true && Number(pid) !== greeted) {
        // A pooler may greet with the process that happens to answer first.
        if (session !== undefined) session.names = null;
        return;
      }
      const names = session?.names ?? new Set();
      if (typeof prepared === 'string') names.add(prepared);
      if (session === undefined) known.set(key, { names });
    },
    forgot(tx) {
      const key = keyOf(tx);
      if (key !== undefined) known.set(key, { names: null });
    },
  };
}

/** A transaction whose driver shows no connection is known for as long as it lasts. */
function keyOf(tx: PostgresTransaction): object | undefined {
  return isSqlTransaction(tx) ? (tx.session?.connection ?? tx) : undefined;
}
