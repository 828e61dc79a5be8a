/** Waiting that ends in time. */

import type { ClientWorld } from './client-world.ts';

/** Until then, or until the signal, or until `target` has an event. */
export function pause(
  world: ClientWorld,
  delayMs: number,
  signal: AbortSignal | null,
  target?: EventTarget,
  event = 'abort',
): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', end);
      target?.removeEventListener(event, end);
      resolve();
    };
    const timer = world.setTimer(Math.max(0, delayMs), end);
    signal?.addEventListener('abort', end);
    target?.addEventListener(event, end);
    if (signal?.aborted === true) end();
  });
}

/** What `body` resolves with, if that comes in time; else rejects with `late`. Its signal ends what is left of it. */
export async function inTime<Value>(
  world: ClientWorld,
  timeMaxMs: number,
  signal: AbortSignal | null,
  late: Error,
  body: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const control = new AbortController();
  const over = pause(world, timeMaxMs, signal, control.signal).then(() => {
    throw late;
  });
  try {
    return await Promise.race([body(control.signal), over]);
  } finally {
    control.abort();
  }
}
