/**
 * One at a time for each operation: Web Locks where the platform has them (all tabs and workers of an origin), else
 * within this client. Only a courtesy: that there is one key is up to the compare-and-set of the pending store, and
 * that there is one execution to the server; with the lock a second tab finds the answer instead of asking for it.
 */

/** Runs `body` alone under a name; rejects with the signal's reason if that comes first. */
export type RunAlone = <Value>(
  name: string,
  signal: AbortSignal,
  body: () => Promise<Value>,
) => Promise<Value>;

export function createLocks(): RunAlone {
  const locks = (globalThis as { navigator?: { locks?: LockManager } }).navigator?.locks;
  if (locks !== undefined)
    return (name, signal, body) =>
      locks.request(`samekey:${name}`, { signal }, body) as ReturnType<typeof body>;
  const tails = new Map<string, Promise<unknown>>();
  return async (name, signal, body) => {
    signal.throwIfAborted();
    const before = tails.get(name);
    const givenUp = new Promise<never>((_, reject) => {
      // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the signal is ours, has one listener, and bytes count
      signal.onabort = () => reject(signal.reason as Error);
    });
    const mine = Promise.race([before, givenUp]).then(() => {
      signal.throwIfAborted();
      return body();
    });
    // Those behind wait for those before as well, also when this one gives up.
    const tail = Promise.allSettled([before, mine]);
    tails.set(name, tail);
    void tail.then(() => tails.get(name) === tail && tails.delete(name));
    return mine;
  };
}
