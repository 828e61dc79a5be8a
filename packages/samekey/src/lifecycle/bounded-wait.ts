/** Waiting with a bound. */

import type { World } from '../core/world.ts';

/** Waits for it, whatever becomes of it, but no longer. */
export function within(world: Pick<World, 'setTimer'>, work: Promise<unknown>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = world.setTimer(ms, resolve);
    const end = (): void => {
      timer.cancel();
      resolve();
    };
    work.then(end, end);
  });
}

/** Called once when what has already arrived in this turn was taken up. */
export function soon(world: Pick<World, 'soon' | 'setTimer'>): Promise<void> {
  return new Promise((resolve) => {
    if (world.soon === undefined) world.setTimer(0, resolve);
    else world.soon(resolve);
  });
}
