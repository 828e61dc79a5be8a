/**
 * Transactions of SQLite. There is one writer for a file, and the store keeps its queue: so they are begun by the
 * store, on the client it was given. Libraries on top of that client (Kysely, Drizzle, Knex …) are handed over as they
 * are: whatever they run while the handler runs is inside the transaction.
 */

import type { TransactionSource } from '../../store/transaction.ts';

/** What is used of `sqliteStore(…)`. */
export interface SqliteTransactions<Handle extends { readonly database: unknown }> {
  transaction<Result>(body: (tx: Handle) => Promise<Result>): Promise<Result>;
}

/**
 * Runs each handler in BEGIN IMMEDIATE … COMMIT on the store's client. The handler's `tx` is that client, or `client`:
 * a query builder that runs on the very same connection.
 */
export function fromSqlite<Handle extends { readonly database: unknown }, Client = Handle['database']>(
  store: SqliteTransactions<Handle>,
  client?: Client,
): TransactionSource<Client, Handle> {
  return {
    name: 'sqlite',
    dialect: 'sqlite',
    tellsCommit: true,
    exclusive: true,
    run: (body) => store.transaction((tx) => body((client ?? tx.database) as Client, tx)),
  };
}
