/**
 * Transactions of Kysely. Source: https://kysely.dev/docs/examples/transactions/simple-transaction.
 *
 * Our statements go around plugins, which rename columns and read texts as JSON. Only newer versions look at what
 * COMMIT was answered with, so the record is read afterwards.
 */

import { anything, orNull, readOptions, required, type Table } from '../../core/options.ts';
import type { TransactionSource } from '../../store/transaction.ts';
import { type Isolation, LIBRARY_ROWS, type LibraryOptions } from '../begin.ts';
import { handleOf } from '../tx-handle.ts';
import { type LendingPool, surviveLosses } from '../pool.ts';

/** What is used of a `Transaction` of Kysely. */
export interface KyselyTransaction {
  withoutPlugins(): { executeQuery(query: never): Promise<{ readonly rows: unknown[] }> };
}

/** What is used of a `TransactionBuilder` of Kysely. */
export interface KyselyTransactionBuilder<Tx> {
  setIsolationLevel(level: Isolation): KyselyTransactionBuilder<Tx>;
  execute<Result>(body: (trx: Tx) => Promise<Result>): Promise<Result>;
}

/** What is used of an instance of Kysely. */
export interface KyselyDatabase<Tx> {
  transaction(): KyselyTransactionBuilder<Tx>;
}

/** Options of {@link fromKysely}. */
export interface KyselyOptions extends LibraryOptions {
  /**
   * The pool of pg that the dialect was given. The process must survive when the server ends a connection, and Kysely
   * listens to none. `null` for a dialect on another driver, as that of MySQL.
   */
  readonly pool: LendingPool | null;
}

const ROWS = {
  ...LIBRARY_ROWS,
  pool: required(
    orNull(anything<LendingPool>()),
    'fromKysely needs { pool }: the pool of pg that the dialect has, or null if it has none.',
  ),
} satisfies Table<KyselyOptions>;

/** Runs each handler in a transaction of Kysely. The handler's `tx` is its `Transaction`. */
export function fromKysely<Tx extends KyselyTransaction>(
  db: KyselyDatabase<Tx>,
  options: KyselyOptions,
): TransactionSource<Tx> {
  const { isolation, dialect, pool } = readOptions('fromKysely', ROWS, options);
  if (pool !== null) surviveLosses(pool);
  return {
    name: 'kysely',
    dialect,
    tellsCommit: false,
    exclusive: false,
    run(body) {
      const begin = db.transaction();
      return (isolation === undefined ? begin : begin.setIsolationLevel(isolation)).execute((tx) =>
        body(
          tx,
          handleOf(async (sql, parameters) => {
            const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] };
            const compiled = { query, queryId: { queryId: 'samekey' }, sql, parameters };
            return (await tx.withoutPlugins().executeQuery(compiled as never)).rows;
          }),
        ),
      );
    },
  };
}
