/**
 * Transactions of Drizzle over node-postgres, postgres.js or mysql2. Source:
 * https://orm.drizzle.team/docs/transactions.
 *
 * It does not look at what COMMIT was answered with, so the record is read afterwards.
 */

import { OptionsError } from '../../core/errors.ts';
import type { SqlTransaction, TransactionSource } from '../../store/transaction.ts';
import { type Isolation, type LibraryDialect, type LibraryOptions, readLibrary } from '../begin.ts';
import { handleOf, runGuarded } from '../tx-handle.ts';
import { type LendingPool, surviveLosses } from '../pool.ts';

/** What is used of a transaction of Drizzle. */
export interface DrizzleTransaction {
  execute(query: never): PromiseLike<unknown>;
}

/** What is used of a database of Drizzle. */
export interface DrizzleDatabase<Tx> {
  /** The driver it was made with: a pool of pg or mysql2, or postgres.js. */
  readonly $client: unknown;
  transaction<Result>(
    body: (tx: Tx) => Promise<Result>,
    config?: { isolationLevel: Isolation },
  ): Promise<Result>;
}

/**
 * Runs each handler in a transaction of Drizzle. The handler's `tx` is Drizzle's. Throws `OptionsError` on a single
 * client.
 */
export function fromDrizzle<Tx extends DrizzleTransaction>(
  db: DrizzleDatabase<Tx>,
  options: LibraryOptions = {},
): TransactionSource<Tx> {
  const { isolation, dialect } = readLibrary('fromDrizzle', options);
  checkDriver(db.$client, dialect);
  return {
    name: 'drizzle',
    dialect,
    tellsCommit: false,
    exclusive: false,
    run: <Result>(body: (tx: Tx, handle: SqlTransaction) => Promise<Result>): Promise<Result> =>
      runGuarded<Tx, Result>(
        (inside) =>
          db.transaction(inside, isolation === undefined ? undefined : { isolationLevel: isolation }),
        (tx) =>
          body(
            tx,
            handleOf(async (sql, params) => rowsOf(await tx.execute(readyMade({ sql, params })), dialect)),
          ),
      ),
  };
}

/** An `SQL` of Drizzle that is text already. */
function readyMade(query: { sql: string; params: unknown[] }): never {
  return {
    getSQL: () => ({ toQuery: () => ({ ...query, typings: query.params.map(() => 'none') }) }),
  } as never;
}

/**
 * node-postgres gives a result, postgres.js the rows themselves, mysql2 a pair: rows, or what a write came to, and
 * columns.
 */
function rowsOf(result: unknown, dialect: LibraryDialect): readonly unknown[] {
  const rows = dialect === 'mysql' ? (result as readonly unknown[])[0] : result;
  if (Array.isArray(rows)) return rows;
  return dialect === 'mysql' ? [] : (rows as { readonly rows: readonly unknown[] }).rows;
}

/** On one client Drizzle runs all transactions at once, mixed up: it can tell a pool by its name only, and so do we. */
function checkDriver(client: unknown, dialect: LibraryDialect): void {
  if (typeof client === 'function') return;
  const kind = (Object.getPrototypeOf(client ?? {}) as { constructor?: { name?: string } }).constructor?.name;
  if (kind?.includes('Pool') !== true) {
    throw new OptionsError(
      `fromDrizzle needs a database on a Pool of pg or mysql2, or on postgres.js; it is on ${String(kind)}, where transactions would mix.`,
    );
  }
  // The connections of mysql2 end no process; each query meets the loss.
  if (dialect === 'postgres') surviveLosses(client as LendingPool);
}
