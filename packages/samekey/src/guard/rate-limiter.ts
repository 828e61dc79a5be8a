/**
 * The rate limiters of `rate-limiter-flexible`, by their shape: in memory, in Redis, in PostgreSQL … Whatever has
 * `consume` and `reward` fits.
 *
 * Source: https://github.com/animir/node-rate-limiter-flexible/wiki/API-methods (consume rejects with a
 * `RateLimiterRes` when points are short, with an `Error` when the store failed).
 */

import type { Room } from '../core/limits.ts';

/** A limiter that is passed in. */
export interface RateLimiter {
  /** Takes a point. Rejects with `{ msBeforeNext }` when there is none, with anything else when it cannot tell. */
  consume(key: string, points?: number): Promise<unknown>;
  /** Gives a point back. */
  reward(key: string, points?: number): Promise<unknown>;
}

/** Takes a point of the limiter. Rejects when the limiter could not tell. */
export async function takePoint(limiter: RateLimiter, key: string): Promise<Room> {
  const end = (used: boolean): void => {
    // Lost, the caller has one point less until the limiter's time is over: nothing to stop a request for.
    if (!used) void settled(() => limiter.reward(key, 1));
  };
  try {
    await limiter.consume(key, 1);
    return { fullForMs: null, end };
  } catch (rejection) {
    const fullForMs = msBeforeNext(rejection);
    if (fullForMs === null) throw rejection;
    return { fullForMs, end };
  }
}

function msBeforeNext(rejection: unknown): number | null {
  const ms = (rejection as { readonly msBeforeNext?: unknown } | null | undefined)?.msBeforeNext;
  return typeof ms === 'number' && !Number.isNaN(ms) ? ms : null;
}

async function settled(call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch {
    // See above.
  }
}
