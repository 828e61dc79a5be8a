/**
 * Transactions of `postgres` (postgres.js). Source: https://github.com/porsager/postgres#transactions.
 *
 * It does not look at what COMMIT was answered with, so the record is read afterwards.
 */

import type { SqlTransaction, TransactionSource } from '../../store/transaction.ts';
import { type BeginOptions, beginStatement, readBegin } from '../begin.ts';
import { handleOf, runGuarded } from '../tx-handle.ts';

/** What is used of the `sql` that `sql.begin` passes to its function. */
export interface PostgresJsTransaction {
  unsafe(text: string, values?: never[], options?: { prepare?: boolean }): { values(): PromiseLike<unknown> };
}

/** What is used of `postgres(…)`. */
export interface PostgresJs<Tx extends PostgresJsTransaction> {
  begin<Result>(options: string, body: (sql: Tx) => Promise<Result>): Promise<unknown>;
}

/** Runs each handler in `sql.begin`. The handler's `tx` is its `sql`. */
export function fromPostgresJs<Tx extends PostgresJsTransaction>(
  sql: PostgresJs<Tx>,
  options: BeginOptions = {},
): TransactionSource<Tx> {
  const level = beginStatement(readBegin('fromPostgresJs', options)).slice('BEGIN'.length).trim();
  return {
    name: 'postgres.js',
    dialect: 'postgres',
    tellsCommit: false,
    exclusive: false,
    run: <Result>(body: (tx: Tx, handle: SqlTransaction) => Promise<Result>): Promise<Result> =>
      runGuarded<Tx, Result>(
        (inside) => sql.begin(level, inside) as Promise<Result>,
        (tx) => {
          const session: { pid: number | undefined } = { pid: undefined };
          // postgres.js names what it prepares by itself.
          const send = async (text: string, values: unknown[], name?: string): Promise<unknown[]> => {
            const prepare = name !== undefined;
            const rows = (await tx.unsafe(text, values as never[], { prepare }).values()) as unknown[];
            session.pid ??= (rows as { readonly state?: { readonly pid?: number } }).state?.pid;
            return rows;
          };
          return body(tx, handleOf(send, { session }));
        },
      ),
  };
}
