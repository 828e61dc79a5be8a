/**
 * What every source gives beside the library's own transaction: a handle on which the store sends its statements, and a
 * guard around a `tx` that would go on working after its transaction has ended.
 *
 * Invariant: after the end nothing reaches the connection by way of the guarded `tx`: there it would commit by itself,
 * outside of the attempt, or fall into somebody else's transaction.
 */

import { OptionsError } from '../core/errors.ts';
import type { SqlTransaction, SqlValue } from '../store/transaction.ts';

/**
 * Makes the handle from a library's way of sending text with `$1 …`. Rows may come as arrays or as objects: every
 * column of a statement of ours has a name of its own, so an object keeps them all, and in order, whatever a plugin
 * calls them. `known`: what is known of its session.
 */
export function handleOf(
  send: (text: string, values: SqlValue[], name?: string) => PromiseLike<readonly unknown[]>,
  known: Pick<SqlTransaction, 'session' | 'opened'> = {},
): SqlTransaction {
  return {
    isSqlTransaction: true,
    ...known,
    query: async (text, values, name) =>
      (await send(text, [...values], name)).map((row) =>
        Array.isArray(row) ? (row as readonly unknown[]) : Object.values(row as object),
      ),
  };
}

/** A `tx` that can be closed. */
interface Guarded<Tx> {
  readonly tx: Tx;
  /** From now on every call of one of its functions throws `OptionsError`. */
  close(): void;
}

/**
 * Wraps a `tx` whose library would take it after the end. Functions named in `never` are refused from the beginning.
 */
export function guarded<Tx extends object>(tx: Tx, never: readonly string[] = []): Guarded<Tx> {
  let isOpen = true;
  function call(fn: object, self: unknown, args: unknown[]): unknown {
    if (isOpen) return Reflect.apply(fn as () => unknown, self, args);
    throw new OptionsError(
      'A transaction was used after it had ended: await every query inside the handler, and keep nothing of attempt.tx.',
    );
  }
  const proxy = new Proxy(tx, {
    apply: (target, _self, args: unknown[]) => call(target, undefined, args),
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function' || name === 'constructor') return value;
      if (never.includes(String(name))) {
        throw new OptionsError(
          `${String(name)}() is not the handler's to call: the transaction is ended by Samekey when the handler has returned.`,
        );
      }
      return new Proxy(value, { apply: (fn, _self, args: unknown[]) => call(fn, target, args) });
    },
  });
  return {
    tx: proxy,
    close() {
      isOpen = false;
    },
  };
}

/**
 * Runs `body` on a guarded `tx` inside a library's transaction. postgres.js ends a transaction at once when its
 * connection is lost, while the function inside still runs; whatever that sends afterwards, be it the library's own
 * ROLLBACK, is written to a socket that is gone (an uncaught error) or to the connection's next user. So from then on
 * the function neither sends nor settles.
 */
export async function runGuarded<Tx extends object, Result>(
  begin: (inside: (inner: Tx) => Promise<Result>) => Promise<Result>,
  body: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  let isOver = false;
  let guard: Guarded<Tx> | undefined;
  try {
    return await begin((inner) => {
      const open = guarded(inner);
      guard = open;
      return new Promise((resolve, reject) => {
        body(open.tx).then(
          (result) => {
            open.close();
            if (!isOver) resolve(result);
          },
          (error: unknown) => {
            open.close();
            // The loss that failed the query is told to the library in the same turn, perhaps after the query.
            setTimeout(() => void (isOver || reject(error as Error)), 0);
          },
        );
      });
    });
  } finally {
    isOver = true;
    guard?.close();
  }
}
