/** Ctrl-C and SIGTERM end the process cleanly; a second Ctrl-C at once. */

import { say } from './narration.ts';

/** The way out. */
interface Stopping {
  /** Aborted when the way out begins. */
  readonly signal: AbortSignal;
  /** Stops without a signal; resolves when stopped. */
  stop(): Promise<void>;
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/** Under npm one Ctrl-C arrives twice: from the terminal, and passed on by npm. */
const SAME_PRESS_MS = 500;
/** What a shell says of a process ended by SIGINT: 128 + 2. */
const INTERRUPTED = 130;

/** Calls `stop` once, at the first signal; the process then ends by itself, having nothing left to do. */
export function stopOnSignals(stop: () => Promise<void>): Stopping {
  const controller = new AbortController();
  let stopped: Promise<void> | undefined;
  let firstAt = 0;

  function begin(): Promise<void> {
    stopped ??= (async () => {
      controller.abort(new Error('stopping'));
      await stop();
      for (const name of SIGNALS) process.off(name, onSignal);
    })();
    return stopped;
  }

  function onSignal(): void {
    if (stopped === undefined) {
      firstAt = performance.now();
      say();
      say('Stopping: payments under way are finished first (Ctrl-C again: at once).');
      begin().catch((error: unknown) => {
        // oxlint-disable-next-line no-console -- the stack of a bug
        console.error(error);
        process.exit(1);
      });
    } else if (performance.now() - firstAt > SAME_PRESS_MS) {
      process.exit(INTERRUPTED);
    }
  }

  for (const name of SIGNALS) process.on(name, onSignal);
  return { signal: controller.signal, stop: begin };
}
