/** Timers of a world keep no process alive, and a service that was started waits for work. */

const KEEP_ALIVE_MS = 3_600_000;

/** Keeps this process alive; what it returns ends that. */
export function keepAlive(): () => void {
  const timer = setInterval(() => undefined, KEEP_ALIVE_MS);
  return () => clearInterval(timer);
}
