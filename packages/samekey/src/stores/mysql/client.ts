/**
 * The user's client, seen through structural types only: connections of `mysql2` (with and without `/promise`) and of
 * `mariadb`. Each becomes one plain {@link Connection}: a statement in, rows as arrays out, errors as the driver threw
 * them.
 *
 * Invariants: nothing is passed as a parameter (`literals.ts`) · rows come as arrays and values as the driver's plain
 * types, whatever the user's settings (`typeCast`, `nestTables`) are · a connection that is lost while nobody asks does
 * not take the process down.
 * Sources: https://sidorares.github.io/node-mysql2/docs,
 * https://github.com/mariadb-corporation/mariadb-connector-nodejs/blob/main/documentation/promise-api.md.
 */

import { OptionsError } from '../../core/errors.ts';
import type { SqlTransaction } from '../../store/transaction.ts';

/** A row, in the order of the statement's columns. */
export type SqlRow = readonly unknown[];

/** Sends one statement and gives its rows; none for a write. */
export type Ask = (sql: string) => Promise<readonly SqlRow[]>;

/** One connection of a driver. */
export interface Connection {
  readonly ask: Ask;
  /** Whether the driver has heard that it is closed: by the server after its time of silence, or on the way. */
  isLost(): boolean;
  /** Gives it up without a word to the server. */
  destroy(): void;
  end(): Promise<void>;
}

/** A connection of `mysql2/promise` or of `mariadb`. */
export interface MysqlConnection {
  /** Takes `{ sql, rowsAsArray, … }`; the drivers' own types differ. */
  query(options: never): Promise<unknown>;
  end(): Promise<void>;
  destroy(): void;
}

/** A connection of `mysql2` without `/promise`. */
export interface MysqlCallbackConnection {
  promise(): MysqlConnection;
}

/** What a user's transaction runs on: such a connection, or one of `samekey/tx/…`. */
export type MysqlTransaction =
  | Pick<MysqlConnection, 'query'>
  | { promise(): Pick<MysqlConnection, 'query'> }
  | SqlTransaction;

/** Wraps what `connect` made. Throws `OptionsError` for something else. */
export function openConnection(made: MysqlConnection | MysqlCallbackConnection): Connection {
  const connection = promised(made) as MysqlConnection;
  if (typeof connection?.query !== 'function' || typeof connection.destroy !== 'function') {
    throw new OptionsError('connect must return a connection of mysql2 or mariadb.');
  }
  let isLost = false;
  // Without a listener the loss of an idle connection is an uncaught exception.
  const heard = made as { on?(event: string, listener: () => void): unknown };
  for (const event of ['error', 'end']) heard.on?.(event, () => void (isLost = true));
  return {
    isLost: () => isLost,
    ask: askerOf(connection),
    destroy: () => connection.destroy(),
    end: () => connection.end(),
  };
}

/** Asks on a user's transaction. Throws `OptionsError` when it is none. */
export function transactionAsker(tx: MysqlTransaction): Ask {
  if ('isSqlTransaction' in tx) return (sql) => tx.query(sql, []);
  const connection = promised(tx) as Pick<MysqlConnection, 'query'>;
  if (typeof connection.query === 'function') return askerOf(connection);
  throw new OptionsError('within() needs a connection of mysql2 or mariadb, or a transaction of samekey/tx.');
}

function promised(made: object): object {
  // The connection of mysql2/promise knows the other one and has no such function.
  const { promise } = made as Partial<MysqlCallbackConnection>;
  return typeof promise === 'function' ? promise.call(made) : made;
}

function askerOf(connection: Pick<MysqlConnection, 'query'>): Ask {
  const isMariadb = typeof (connection as { batch?: unknown }).batch === 'function';
  // A function of the connection's own goes before `typeCast: true`; a function of the query goes before both, and
  // takes time.
  const { typeCast } = (connection as { config?: { typeCast?: unknown } }).config ?? {};
  const cast = typeof typeCast === 'function' ? { typeCast: plainCast } : {};
  return async (sql) => {
    const options = isMariadb ? { sql, ...MARIADB } : { sql, ...MYSQL2, ...cast };
    const answer = (await connection.query(options as never)) as readonly unknown[];
    const rows = isMariadb ? answer : answer[0];
    return Array.isArray(rows) ? (rows as readonly SqlRow[]) : [];
  };
}

/** What mysql2 makes of a value by itself. */
function plainCast(_field: unknown, next: () => unknown): unknown {
  return next();
}

const MYSQL2 = { rowsAsArray: true, nestTables: false, typeCast: true, supportBigNumbers: true };
const MARIADB = { rowsAsArray: true, nestTables: false, typeCast: undefined, bigIntAsNumber: false };
