import type { World } from './world.ts';

/** Resolves after so many milliseconds, by the world's timer. */
export function pause(world: Pick<World, 'setTimer'>, ms: number): Promise<void> {
  return new Promise((resolve) => void world.setTimer(ms, resolve));
}
