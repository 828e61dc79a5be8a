/**
 * Values that may be promised: with a synchronous ring nothing waits for a turn, not even inside an open transaction of
 * SQLite.
 */

/** A value, or the promise of one. */
export type Maybe<T> = T | Promise<T>;

/** What comes after a value. */
export function after<A, B>(value: Maybe<A>, next: (value: A) => Maybe<B>): Maybe<B> {
  if (!isPromise(value)) return next(value);
  return (async () => next(await value))();
}

/** All values, in order; promised if one of them is. */
export function all<T>(values: readonly Maybe<T>[]): Maybe<readonly T[]> {
  return values.some(isPromise) ? Promise.all(values) : (values as readonly T[]);
}

/** Whether it is a promise, of whatever realm. */
export function isPromise<T>(value: Maybe<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | null)?.then === 'function';
}
