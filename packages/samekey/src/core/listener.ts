/**
 * Listeners of the application, called so that nothing of theirs reaches the attempt or the process: not a throw, and
 * not the rejection of an async one, which by default ends the process.
 */

/** Calls it; `failed` is told what it threw or what its promise was rejected with. */
export function callListener<Values extends readonly unknown[]>(
  listener: (...values: Values) => unknown,
  values: Values,
  failed: (error: unknown) => void,
): void {
  try {
    const returned = listener(...values);
    if (isThenable(returned)) returned.then(undefined, failed);
  } catch (error) {
    failed(error);
  }
}

/** What was thrown, for people. Anything may be thrown, also what cannot be made a text. */
export function textOfError(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    return `something of type ${typeof error}`;
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  );
}
