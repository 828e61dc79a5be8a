/** Processes of the demo's own: started on a script beside this one, and said to be there by their first message. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A process that has said where it listens. */
export interface Child {
  readonly origin: string;
  /** Ends it: at once (`SIGKILL`), or by letting go of it. Resolves when it is gone. */
  kill(): Promise<void>;
  letGo(): Promise<void>;
}

/** Starts a script of this folder with its settings in the environment, and waits until it tells its origin. */
export async function startChild(script: string, variable: string, settings: unknown): Promise<Child> {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), [], {
    env: { ...process.env, [variable]: JSON.stringify(settings) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  const [message] = (await Promise.race([
    once(child, 'message'),
    ended.then(([code]) => Promise.reject(new Error(`${script} ended with ${String(code)} at its start`))),
  ])) as [{ readonly origin: string }];
  return {
    origin: message.origin,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    async letGo() {
      if (isRunning(child)) child.disconnect();
      await ended;
    },
  };
}

function isRunning(child: ChildProcess): boolean {
  return child.connected && child.exitCode === null && child.signalCode === null;
}
