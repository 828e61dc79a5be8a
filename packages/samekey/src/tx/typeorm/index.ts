/**
 * Transactions of TypeORM on PostgreSQL. Source: https://typeorm.io/docs/advanced-topics/transactions.
 *
 * It does not look at what COMMIT was answered with, so the record is read afterwards. It listens to the connections it lends.
 */

import type { TransactionSource } from '../../core/transaction.ts';
import { type BeginOptions, beginStatement } from '../begin.ts';
import { handleOf } from '../handle.ts';

/** What is used of an `EntityManager` in a transaction. */
export interface TypeormManager {
  readonly queryRunner?:
    | {
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
  options: BeginOptions = {},
): TransactionSource<Tx> {
  beginStatement(options);
  // Undefined is the library's own default.
  const isolation = options.isolation?.toUpperCase() as never;
  return {
    name: 'typeorm',
    dialect: 'postgres',
    tellsCommit: false,
    exclusive: false,
    run: (body) =>
      dataSource.transaction(isolation, (tx) =>
        body(
          tx,
          handleOf(async (text, values) => {
            const { queryRunner } = tx;
            if (queryRunner === undefined) throw new Error('TypeORM gave a manager without its connection.');
            return (await queryRunner.query(text, values as never[], true)).records;
          }),
        ),
      ),
  };
}
