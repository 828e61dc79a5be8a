/**
 * Statements of ours on a connection of `mysql2`: rows as arrays and plain values, whatever the user's settings are.
 */

import type { SqlTransaction } from '../store/transaction.ts';
import { handleOf } from './tx-handle.ts';

/** What is used of a connection that takes callbacks, as Knex and TypeORM have it underneath. */
export interface MysqlCallbacks {
  query(options: object, done: (error: Error | null, rows: unknown) => void): unknown;
}

/** How mysql2 is asked on this connection. A function of the connection's own would go before `typeCast: true`. */
export function mysql2Settings(connection: object): object {
  const { typeCast } = (connection as { config?: { typeCast?: unknown } }).config ?? {};
  return {
    rowsAsArray: true,
    nestTables: false,
    supportBigNumbers: true,
    typeCast:
      typeof typeCast === 'function' ? (_field: unknown, next: () => unknown): unknown => next() : true,
  };
}

/** The handle on it. */
export function handleOnMysql(connection: MysqlCallbacks): SqlTransaction {
  const settings = mysql2Settings(connection);
  return handleOf(
    (sql) =>
      new Promise((resolve, reject) => {
        connection.query({ ...settings, sql }, (error, rows) => {
          if (error !== null) return reject(error);
          // A write gives no rows.
          return resolve(Array.isArray(rows) ? rows : []);
        });
      }),
  );
}
