/** Starts an example as a process of its own and sends it orders. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A running example. */
export interface RunningExample {
  readonly origin: string;
  /** Sends an order. */
  order(key: string, item: string, account?: string): Promise<OrderAnswer>;
  /** Stops it as a platform does; resolves with its exit code, or the signal that ended it. */
  stop(): Promise<number | string | null>;
  /** Kills it as a crash does. */
  kill(): Promise<void>;
}

/** What came back of an order. */
export interface OrderAnswer {
  readonly status: number;
  readonly text: string;
  readonly replayed: string | null;
}

/** Starts the script (below `examples/`, or a full path), on any free port, and waits for the address it prints. */
export async function startExample(
  script: string,
  env: Record<string, string> = {},
): Promise<RunningExample> {
  const child = spawn(process.execPath, [fileURLToPath(new URL(script, import.meta.url))], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...env, PORT: '0' },
  });
  const closed = once(child, 'close');
  const lines = createInterface({ input: child.stdout });
  const origin = await Promise.race([
    once(lines, 'line').then(([line]) => String(line)),
    closed.then(() => Promise.reject(new Error(`${script} ended before it printed its address`))),
  ]);
  return {
    origin,
    async order(key, item, account = 'acme') {
      const response = await fetch(`${origin}/orders`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${account}`,
          'Content-Type': 'application/json',
          'Idempotency-Key': `"${key}"`,
        },
        body: JSON.stringify({ item }),
      });
      const replayed = response.headers.get('Idempotency-Replayed');
      return { status: response.status, text: await response.text(), replayed };
    },
    async stop() {
      child.kill('SIGTERM');
      await closed;
      return child.exitCode ?? child.signalCode;
    },
    async kill() {
      child.kill('SIGKILL');
      await closed;
    },
  };
}
