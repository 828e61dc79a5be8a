/**
 * What is known of the sessions on which users' transactions run. The user's client may go through a pooler although
 * the store's own do not, and there a statement's name means another statement, or none, which aborts the transaction:
 * so statements are prepared by name only in a session whose own process answers, and no more in one that has forgotten
 * a name.
 */

import { isSqlTransaction, type PostgresTransaction } from './client.ts';

/** Sessions by the connections of their drivers. */
export interface LentSessions {
  /** Whether statements may be prepared in the session of this transaction, as far as is known. */
  canPrepare(tx: PostgresTransaction): boolean;
  /** Whether the session keeps the statement of the limits prepared. */
  keepsLimits(connection: object): boolean;
  /** The session's limits were set by this process of the server, by a prepared statement or not. */
  limited(tx: PostgresTransaction, pid: unknown, isPrepared: boolean): void;
  /** A session that has forgotten a name is never trusted again. */
  forgot(tx: PostgresTransaction): void;
}

/** `direct`: its own process answers; `limits`: the limits are prepared besides; `forgetful`: it lost a name. */
type Known = 'direct' | 'limits' | 'forgetful';

/** `prepare`: what the user says of all of them; undefined: found out for each. */
export function createLentSessions(prepare: boolean | undefined): LentSessions {
  const known = new WeakMap<object, Known>();
  return {
    canPrepare(tx) {
      const key = keyOf(tx);
      const is = key === undefined ? undefined : known.get(key);
      if (is === 'forgetful') return false;
      return prepare ?? is !== undefined;
    },
    keepsLimits: (connection) => known.get(connection) === 'limits',
    limited(tx, pid, isPrepared) {
      const key = keyOf(tx);
      if (key === undefined || prepare === false || known.get(key) === 'forgetful') return;
      const greeted = isSqlTransaction(tx) ? tx.session?.pid : undefined;
      if (prepare === true || Number(pid) === greeted) known.set(key, isPrepared ? 'limits' : 'direct');
      // A pooler may greet with the process that happens to answer first.
      else if (known.has(key)) known.set(key, 'forgetful');
    },
    forgot(tx) {
      const key = keyOf(tx);
      if (key !== undefined) known.set(key, 'forgetful');
    },
  };
}

/** A transaction whose driver shows no connection is known for as long as it lasts. */
function keyOf(tx: PostgresTransaction): object | undefined {
  return isSqlTransaction(tx) ? (tx.session?.connection ?? tx) : undefined;
}
