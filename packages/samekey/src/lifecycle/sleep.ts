/** A pause that can be ended early; a wake while nobody sleeps ends the next pause. */

/** One sleeper. */
export interface Sleeper {
  sleep(ms: number): Promise<void>;
  wake(): void;
}

/** Makes it. It keeps the process alive: a worker waits for work. */
export function createSleeper(): Sleeper {
  let woken = false;
  let end: (() => void) | null = null;
  return {
    sleep(ms) {
      if (woken) {
        woken = false;
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        const timer = setTimeout(() => end?.(), ms);
        end = () => {
          clearTimeout(timer);
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
