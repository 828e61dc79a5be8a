/**
 * Knows whether the running code was called from within a user's transaction on a file: a store call awaited there
 * would wait for the turn that its own caller holds. Uses AsyncLocalStorage, loaded with the first transaction; where a
 * runtime has none, such a call ends with the bounded wait for the turn instead.
 */

import { StoreError } from '../../core/errors.ts';
import type { Turns } from './turns.ts';

/** One transaction on the way to the running code. */
export interface TransactionContext {
  readonly turns: Turns;
  /** False once it ended: what it started and did not await may call the store again. */
  open: boolean;
  readonly outer: TransactionContext | undefined;
}

interface AsyncContext {
  run<T>(context: TransactionContext, body: () => T): T;
  getStore(): TransactionContext | undefined;
}

let loading: Promise<AsyncContext | undefined> | undefined;
let loaded: AsyncContext | undefined;

/** The runtime's async context, if it has one. */
export function asyncContext(): Promise<AsyncContext | undefined> {
  loading ??= import('node:async_hooks').then(
    ({ AsyncLocalStorage }) => {
      loaded = new AsyncLocalStorage<TransactionContext>();
      return loaded;
    },
    () => undefined,
  );
  return loading;
}

/** Throws `StoreError` when the caller stands inside an open transaction on the same file. */
export function refuseInside(turns: Turns): void {
  for (let context = loaded?.getStore(); context !== undefined; context = context.outer) {
    if (context.open && context.turns === turns) {
      throw new StoreError(
        'A store call was made inside transaction() on the same SQLite file, where it would wait for itself: ' +
          'make it before or after the transaction, or use store.within(tx).',
        { applied: 'no', transient: false },
      );
    }
  }
}
