/** What ends a call before its request has left: a store that fails, a sign-out, somebody who has given it up. */

import type { Settings } from './options.ts';
import { type Unknown, unknown, type UnknownWhy } from './results.ts';
import { inTime } from './waiting.ts';

/** Nothing more may be sent. */
export class Stopped {
  /** Null: somebody has cancelled it, or settled it. */
  readonly told: Unknown | null;
  constructor(told: Unknown | null) {
    this.told = told;
  }
}

/** For whoever is told of a store by its own error. */
export function ofStore<Value>(promise: Promise<Value>): Promise<Value> {
  return promise.catch((error: unknown) => {
    throw error instanceof Stopped ? error.told?.error : error;
  });
}

export const cleared = (): Stopped => new Stopped(unknown('cleared'));

/**
 * What the page brings along must answer in time: whoever waits for it holds the turn of the others. Rejects with
 * {@link Stopped}: a store that does not answer is one that fails.
 */
export function inOurTime<Value>(
  { world, timeMaxMs, tryTimeMaxMs }: Settings,
  promise: Promise<Value>,
  why: UnknownWhy = 'not-kept',
  signal: AbortSignal | null = null,
): Promise<Value> {
  const timeMs = Math.min(timeMaxMs, tryTimeMaxMs);
  return inTime(world, timeMs, signal, new Error('Too slow.'), () => promise).catch((error: unknown) => {
    throw new Stopped(unknown(signal?.aborted === true ? 'aborted' : why, { error }));
  });
}
