/**
 * Transactions of Knex on PostgreSQL or, by mysql2, on MySQL and MariaDB. Source:
 * https://knexjs.org/guide/transactions.html.
 *
 * Our statements go to the transaction's connection itself: `raw` reads `?` as a placeholder, and postProcessResponse
 * may reshape rows. It does not look at what COMMIT was answered with, so the record is read afterwards.
 */

import type { TransactionSource } from '../../store/transaction.ts';
import { type Isolation, type LibraryOptions, readLibrary } from '../begin.ts';
import { handleOf } from '../tx-handle.ts';
import { handleOnMysql, type MysqlCallbacks } from '../mysql-ask.ts';
import { surviveLoss } from '../pool.ts';

/** What is used of a `Knex.Transaction`. */
export interface KnexTransaction {
  readonly client: unknown;
}

/** What is used of an instance of Knex. */
export interface KnexDatabase<Tx> {
  transaction<Result>(
    body: (trx: Tx) => Promise<Result>,
    config?: { isolationLevel?: Isolation },
  ): Promise<Result>;
}

/** The client of pg that a transaction of Knex runs on. */
interface Connection {
  query(query: { text: string; values: unknown[]; rowMode: 'array' }): Promise<{ readonly rows: unknown[] }>;
  on(event: 'error', listener: () => void): unknown;
}

/** Runs each handler in a transaction of Knex. The handler's `tx` is its `Knex.Transaction`. */
export function fromKnex<Tx extends KnexTransaction>(
  knex: KnexDatabase<Tx>,
  options: LibraryOptions = {},
): TransactionSource<Tx> {
  const { isolation, dialect } = readLibrary('fromKnex', options);
  return {
    name: 'knex',
    dialect,
    tellsCommit: false,
    exclusive: false,
    run: (body) =>
      knex.transaction(
        async (tx) => {
          const { client } = tx as { client: { acquireConnection(): Promise<Connection & MysqlCallbacks> } };
          const connection = await client.acquireConnection();
          // Its own pool listens; one of pg that it was given does not.
          surviveLoss(connection);
          if (dialect === 'mysql') return body(tx, handleOnMysql(connection));
          const handle = handleOf(
            async (text, values) => (await connection.query({ text, values, rowMode: 'array' })).rows,
          );
          return body(tx, handle);
        },
        isolation === undefined ? {} : { isolationLevel: isolation },
      ),
  };
}
