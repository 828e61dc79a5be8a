/** Starts `sqlite-worker` processes and collects what they say. */

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { type ClientName, clientPath } from './sqlite-clients.ts';
import { programOf } from '../processes/program.ts';

const PROGRAM = programOf('sqlite-worker');

export interface Worker {
  readonly process: ChildProcess;
  /** Complete lines only: one cut off by the kill was not said. */
  lines(): readonly string[];
  /** Resolves when a line that starts so was said. */
  said(start: string): Promise<void>;
  go(): void;
  readonly ended: Promise<number | null>;
}

/** Starts a worker and waits until it is up. */
export async function startWorker(client: ClientName, path: string, task: string): Promise<Worker> {
  if (!existsSync(PROGRAM)) throw new Error('The test programs are not built: run npx tsc -b first.');
  const child = spawn(process.execPath, [PROGRAM, client, path, task], {
    env: { ...process.env, SAMEKEY_TEST_CLIENT_PATH: clientPath(client) },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  let rest = '';
  const watchers = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
    for (const watch of watchers) watch();
  });
  const ended = new Promise<number | null>((resolve) => void child.once('close', resolve));
  const worker: Worker = {
    process: child,
    lines: () => lines,
    said: (start) =>
      new Promise((resolve, reject) => {
        // A busy worker says a hundred thousand lines: each is looked at once.
        let looked = 0;
        const watch = (): void => {
          while (looked < lines.length) {
            if (!lines[looked++]?.startsWith(start)) continue;
            watchers.delete(watch);
            resolve();
            return;
          }
        };
        watchers.add(watch);
        watch();
        void ended.then(() => reject(new Error(`The worker ended before it said "${start}".`)));
      }),
    go: () => void child.stdin.write('go\n'),
    ended,
  };
  await worker.said('up');
  return worker;
}
