/**
 * A circuit breaker in front of a store: while the store is down, requests are answered 503 at once, and only a probe
 * now and then goes to it. The breaker is a library's, passed in.
 *
 * Invariants: only claims ask the breaker; whatever ends or keeps an attempt that runs, and every read, goes straight
 * to the store · what the breaker kept back was not sent, so it was not applied · an answer is the store's own, never a
 * breaker's fallback or cache · a store that is busy, or refuses one row, is not down (F44, F54).
 *
 * Sources: https://github.com/connor4312/cockatiel (`execute`), https://github.com/nodeshift/opossum (`fire`).
 */

import { isStoreError, OptionsError, StoreError } from '../core/errors.ts';
import { checkWholeNumber, having, readOptions, type Table, wholeNumber } from '../core/options.ts';
import type { ClaimRequest, ClaimResult, Store } from '../store/store.ts';
import type { World } from '../core/world.ts';
import { systemWorld } from '../system.ts';

type Run = () => Promise<unknown>;

/** A breaker that is passed in: a policy of cockatiel, or `new CircuitBreaker((run) => run(), …)` of opossum. */
export type Breaker =
  | { execute(run: Run): Promise<unknown> }
  | { fire(run: Run): Promise<unknown>; readonly options?: { readonly resetTimeout?: number } };

/** How the breaker is used. */
export interface BreakerOptions {
  /**
   * How long the breaker stays open, in milliseconds, for `Retry-After`; default opossum's `resetTimeout`, else not
   * known (1 s).
   */
  readonly halfOpenAfterMs?: number;
  /** A claim that takes longer has failed, in milliseconds; default 2,000. The store may hang where it never fails. */
  readonly callTimeMaxMs?: number;
  /** Clock and timers; default `systemWorld()`. For tests. */
  readonly world?: Pick<World, 'monotonicNow' | 'setTimer'>;
}

const BREAKER_ROWS = {
  halfOpenAfterMs: wholeNumber(0),
  callTimeMaxMs: wholeNumber(1, undefined, 2_000),
  world: having<NonNullable<BreakerOptions['world']>>(
    ['monotonicNow', 'setTimer'],
    'a world: systemWorld(), or one for tests',
  ),
} satisfies Table<BreakerOptions>;

/** The store behind the breaker, with everything else it can do. Throws `OptionsError`. */
export function withBreaker<S extends Store>(store: S, breaker: Breaker, options: BreakerOptions = {}): S {
  const { callTimeMaxMs, ...own } = readOptions('withBreaker', BREAKER_ROWS, options);
  const world = own.world ?? systemWorld();
  const through = throughOf(breaker);
  const openMs = own.halfOpenAfterMs ?? ('fire' in breaker ? breaker.options?.resetTimeout : undefined);
  const halfOpenAfterMs = openMs === undefined ? null : checkWholeNumber('halfOpenAfterMs', openMs, 0);
  let failedAt = world.monotonicNow();

  function keptBack(cause: unknown): StoreError {
    const leftMs = halfOpenAfterMs === null ? null : failedAt + halfOpenAfterMs - world.monotonicNow();
    return new StoreError('The store has failed too often and is left alone: it is tried again in a while.', {
      applied: 'no',
      retryAfterMs: leftMs === null ? null : Math.max(0, leftMs),
      cause,
    });
  }

  async function claim(requests: readonly ClaimRequest[]): Promise<readonly ClaimResult[]> {
    let sent: Promise<readonly ClaimResult[]> | null = null;
    try {
      await through(async () => {
        sent = bounded(store.claim(requests), callTimeMaxMs, world);
        // Awaited by us as well; the breaker may stop to listen (a time-out of its own).
        sent.catch(() => undefined);
        return sent.catch((error: unknown) => {
          if (!isDown(error)) return undefined;
          failedAt = world.monotonicNow();
          throw error;
        });
      });
    } catch (error) {
      if (sent === null) throw keptBack(error);
    }
    if (sent === null) throw keptBack(undefined);
    return sent;
  }

  return { ...store, claim };
}

function throughOf(breaker: Breaker): (run: Run) => Promise<unknown> {
  if (typeof breaker === 'object' && breaker !== null) {
    if ('execute' in breaker && typeof breaker.execute === 'function') return (run) => breaker.execute(run);
    if ('fire' in breaker && typeof breaker.fire === 'function') return (run) => breaker.fire(run);
  }
  throw new OptionsError(
    'withBreaker needs a breaker: a policy of cockatiel, or new CircuitBreaker((run) => run()) of opossum.',
  );
}

/**
 * Whether an error says that the store is not there. A row it cannot hold, or a lock it waited for, says that it is.
 */
function isDown(error: unknown): boolean {
  return !isStoreError(error) || (error.transient && !error.busy);
}

function bounded<T>(call: Promise<T>, timeMaxMs: number, world: Pick<World, 'setTimer'>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = world.setTimer(timeMaxMs, () =>
      reject(new StoreError(`The store took longer than ${timeMaxMs} ms.`, { applied: 'unknown' })),
    );
    call.then(
      (value) => {
        timer.cancel();
        resolve(value);
      },
      (error: unknown) => {
        timer.cancel();
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}
