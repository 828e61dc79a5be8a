/**
 * One at a time for each operation: Web Locks where the platform has them (all tabs and workers of an origin), else
 * within this client. Only a courtesy: that there is one key is up to the compare-and-set of the pending store, and
 * that there is one execution to the server; with the lock a second tab finds the answer instead of asking for it. So
 * whoever cannot have it in time, or at all (a sandboxed frame), goes on without (F133, F134).
 */

import type { ClientWorld } from './client-world.ts';
import { pause } from './waiting.ts';

/** Runs `body` under a name, alone if that can be had; rejects with {@link GIVEN_UP} if the signal comes first. */
export type RunAlone = <Value>(
  name: string,
  signal: AbortSignal | null,
  body: (isAlone: boolean) => Promise<Value>,
) => Promise<Value>;

/** The caller's signal came while it waited for its turn. */
export const GIVEN_UP: Error = new Error('Given up.');

/** The part of a `LockManager` that is used here. */
interface Turns {
  request(name: string, options: { signal: AbortSignal }, body: () => unknown): Promise<unknown>;
}

export function createLocks(world: ClientWorld, prefix: Promise<string>, waitMaxMs: number): RunAlone {
  const locks = (globalThis as { navigator?: { locks?: Turns } }).navigator?.locks ?? queue();
  return async (operation, signal, body) => {
    // A prefix of their own: the locks of the page are no operations.
    const name = `samekey:${await prefix}${operation}`;
    const waiting = new AbortController();
    const stop = (): void => waiting.abort();
    void pause(world, waitMaxMs, signal, waiting.signal).then(stop);
    let begun: ReturnType<typeof body> | undefined;
    await locks
      .request(name, { signal: waiting.signal }, () => {
        // One that was given up meanwhile is granted all the same by some.
        if (!waiting.signal.aborted) begun = body(true);
        stop();
        return begun;
      })
      .catch(() => undefined);
    stop();
    if (begun === undefined && signal?.aborted === true) throw GIVEN_UP;
    return begun ?? body(false);
  };
}

/** Turns within this client. */
function queue(): Turns {
  const tails = new Map<string, Promise<unknown>>();
  return {
    request(name, { signal }, body) {
      const before = tails.get(name);
      const givenUp = new Promise((resolve) => signal.addEventListener('abort', resolve));
      const mine = Promise.race([before, givenUp]).then(body);
      // Those behind wait for those before as well, also when this one gives up.
      const tail = Promise.allSettled([before, mine]);
      tails.set(name, tail);
      void tail.then(() => tails.get(name) === tail && tails.delete(name));
      return mine;
    },
  };
}
