/**
 * Transactions of `mariadb`. Source:
 * https://github.com/mariadb-corporation/mariadb-connector-nodejs/blob/main/documentation/promise-api.md.
 */

import type { TransactionSource } from '../../store/transaction.ts';
import { type BeginOptions, readBegin } from '../begin.ts';
import { type LentConnection, runOnMysql } from '../mysql-run.ts';

/** What is used of a pool of `mariadb`. */
export interface MariadbPool<Connection extends LentConnection> {
  getConnection(): Promise<Connection>;
}

const SETTINGS = { rowsAsArray: true, nestTables: false, typeCast: undefined, bigIntAsNumber: false };

/**
 * Runs each handler in a transaction on a connection of the pool. The handler's `tx` is that connection; statements
 * that end the transaction are refused. `isolation` default: the server's own, mostly `repeatable read`.
 */
export function fromMariadb<Connection extends LentConnection>(
  pool: MariadbPool<Connection>,
  options: BeginOptions = {},
): TransactionSource<Connection> {
  const isolation = readBegin('fromMariadb', options);
  return {
    name: 'mariadb',
    dialect: 'mysql',
    // The server answers OK also when a deadlock of a stray query has rolled back everything before.
    tellsCommit: false,
    exclusive: false,
    run: (body) =>
      runOnMysql(
        pool,
        isolation,
        () => SETTINGS,
        (answer) => answer,
        body,
      ),
  };
}
