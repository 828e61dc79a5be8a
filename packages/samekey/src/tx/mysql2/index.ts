/** Transactions of `mysql2/promise`. Source: https://sidorares.github.io/node-mysql2/docs/api-and-configurations. */

import type { TransactionSource } from '../../store/transaction.ts';
import { type BeginOptions, readBegin } from '../begin.ts';
import { mysql2Settings } from '../mysql-ask.ts';
import { type LentConnection, runOnMysql } from '../mysql-run.ts';

/** What is used of a pool of `mysql2/promise`. */
export interface Mysql2Pool<Connection extends LentConnection> {
  getConnection(): Promise<Connection>;
}

/**
 * Runs each handler in a transaction on a connection of the pool. The handler's `tx` is that connection; statements
 * that end the transaction are refused. `isolation` default: the server's own, mostly `repeatable read`.
 */
export function fromMysql2<Connection extends LentConnection>(
  pool: Mysql2Pool<Connection>,
  options: BeginOptions = {},
): TransactionSource<Connection> {
  const isolation = readBegin('fromMysql2', options);
  return {
    name: 'mysql2',
    dialect: 'mysql',
    // The server answers OK also when a deadlock of a stray query has rolled back everything before.
    tellsCommit: false,
    exclusive: false,
    run: (body) =>
      runOnMysql(pool, isolation, mysql2Settings, (answer) => (answer as readonly unknown[])[0], body),
  };
}
