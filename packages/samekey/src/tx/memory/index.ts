/**
 * Transactions of the memory store: the handler's `tx` reads and writes rows that commit with its record and its
 * messages.
 */

import type { TransactionSource } from '../../store/transaction.ts';

/** What is used of `memoryStore()`. */
export interface MemoryTransactionSource<Tx> {
  transaction<Result>(body: (tx: Tx) => Promise<Result>): Promise<Result>;
}

/** Runs each handler in a transaction of the store. A conflict with another one rolls it back, and it runs again. */
export function fromMemory<Tx>(store: MemoryTransactionSource<Tx>): TransactionSource<Tx, Tx> {
  return {
    name: 'memory',
    dialect: 'memory',
    tellsCommit: true,
    exclusive: false,
    run: (body) => store.transaction((tx) => body(tx, tx)),
  };
}
