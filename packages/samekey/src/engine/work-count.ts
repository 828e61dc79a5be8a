/** How much of an engine's work is under way, so that its end can wait for it. */

import type { World } from '../core/world.ts';

/** The count of one engine. */
export class UnderWay {
  #count = 0;
  #onIdle: (() => void) | null = null;

  get count(): number {
    return this.#count;
  }

  enter(): void {
    this.#count += 1;
  }

  leave(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onIdle?.();
  }

  /** Counts it until it has ended, in whatever way. */
  readonly track = (work: Promise<unknown>): void => {
    this.enter();
    const left = (): void => this.leave();
    work.then(left, left);
  };

  /** Resolves when nothing is under way any more, or after so long. Something is now. */
  idle(world: Pick<World, 'setTimer'>, timeMaxMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = world.setTimer(timeMaxMs, resolve);
      this.#onIdle = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}
