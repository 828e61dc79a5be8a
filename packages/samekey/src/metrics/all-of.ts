/** One listener of several. */

/**
 * Calls each with every event: `onEvent: allOf(metrics.samekey, logs.samekey)`. One that throws keeps the others from
 * nothing; what it threw is thrown when all have been called, so that it is told as the throw of a single listener
 * would be.
 */
export function allOf<Event>(
  ...listeners: readonly ((event: Event) => unknown)[]
): (event: Event) => unknown {
  return (event) => {
    const thrown: unknown[] = [];
    const returned = listeners.map((listener) => {
      try {
        return listener(event);
      } catch (error) {
        thrown.push(error);
        return undefined;
      }
    });
    if (thrown.length > 0) throw thrown[0];
    return returned.some((one) => one instanceof Promise) ? Promise.all(returned) : undefined;
  };
}
