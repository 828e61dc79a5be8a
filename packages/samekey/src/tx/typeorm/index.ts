/**
 * Transactions of TypeORM on PostgreSQL or, by mysql2, on MySQL and MariaDB. Source:
 * https://typeorm.io/docs/advanced-topics/transactions.
 *
 * It does not look at what COMMIT was answered with, so the record is read afterwards. It
 * listens to the connections it lends.
 */

import type { TransactionSource } from '../../store/transaction.ts';
import { type LibraryOptions, readLibrary } from '../begin.ts';
import { handleOf } from '../tx-handle.ts';
import { handleOnMysql, type MysqlCallbacks } from '../mysql-ask.ts';

/** What is used of an `EntityManager` in a transaction. */
export interface TypeormManager {
  readonly queryRunner?:
    | {
        /** The connection of its driver. */
        connect(): Promise<unknown>;
        query(
          text: string,
          values: never[],
          structured: true,
        ): Promise<{ readonly records: readonly unknown[] }>;
      }
    | undefined;
}

/** What is used of a `DataSource`. */
export interface TypeormDataSource<Tx> {
  transaction<Result>(isolation: never, body: (manager: Tx) => Promise<Result>): Promise<Result>;
}

/** Runs each handler in a transaction of TypeORM. The handler's `tx` is its `EntityManager`. */
export function fromTypeorm<Tx extends TypeormManager>(
  dataSource: TypeormDataSource<Tx>,
  options: LibraryOptions = {},
): TransactionSource<Tx> {
  const { isolation: level, dialect } = readLibrary('fromTypeorm', options);
  // Undefined is the library's own default.
  const isolation = level?.toUpperCase() as never;
  return {
    name: 'typeorm',
    dialect,
    tellsCommit: false,
    exclusive: false,
    run: (body) =>
      dataSource.transaction(isolation, async (tx) => {
        const { queryRunner } = tx;
        if (queryRunner === undefined) throw new Error('TypeORM gave a manager without its connection.');
        // Its own `query` gives rows as the user's settings shape them.
        if (dialect === 'mysql')
          return body(tx, handleOnMysql((await queryRunner.connect()) as MysqlCallbacks));
        return body(
          tx,
          handleOf(async (text, values) => (await queryRunner.query(text, values as never[], true)).records),
        );
      }),
  };
}
