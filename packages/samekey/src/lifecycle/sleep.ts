/** A pause that can be ended early; a wake while nobody sleeps ends the next pause. */

import type { World } from '../core/world.ts';

/** One sleeper. */
export interface Sleeper {
  sleep(ms: number): Promise<void>;
  wake(): void;
}

/** Makes it. */
export function createSleeper(world: Pick<World, 'setTimer'>): Sleeper {
  let woken = false;
  let end: (() => void) | null = null;
  return {
    sleep(ms) {
      if (woken) {
        woken = false;
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        const timer = world.setTimer(ms, () => end?.());
        end = () => {
          timer.cancel();
          end = null;
          woken = false;
          resolve();
        };
      });
    },
    wake() {
      woken = true;
      end?.();
    },
  };
}
