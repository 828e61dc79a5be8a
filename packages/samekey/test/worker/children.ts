/** Worker processes that tests start and kill, and the ledger they write. */

import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import type { WorkerOptions } from '../../src/worker/index.ts';
import { temporaryFile } from '../stores/sqlite-clients.ts';
import { atEnd, type Place } from './bench.ts';
import { programOf } from '../processes/program.ts';

const PROGRAM = programOf('outbox-worker');

/** A line of the ledger. */
export interface Noted {
  readonly what: 'begin' | 'publish' | 'end';
  readonly id: string;
  readonly key: string;
  readonly number: number;
  readonly before: boolean;
  readonly pid: number;
  readonly payload: { readonly n?: number; readonly group?: string };
}

/** What the workers of a test have done, in order. */
export interface Ledger {
  readonly path: string;
  read(): readonly Noted[];
}

/** An empty ledger. */
export function openLedger(): Ledger {
  const file = temporaryFile();
  atEnd(async () => file.remove());
  return {
    path: file.path,
    read: () =>
      existsSync(file.path)
        ? readFileSync(file.path, 'utf8')
            .split('\n')
            .filter((line) => line !== '')
            .map((line) => JSON.parse(line) as Noted)
        : [],
  };
}

/** A running worker process. */
export interface Child {
  readonly pid: number;
  /** Resolves when it listens, or is gone. */
  readonly ready: Promise<unknown>;
  readonly gone: Promise<unknown>;
  kill(): Promise<unknown>;
  stop(): Promise<unknown>;
}

/** Starts one. */
export function startChild(
  { address }: Place,
  ledger: Ledger,
  worker: Pick<WorkerOptions, 'leaseMs' | 'concurrency' | 'deliveriesMax' | 'pollMs' | 'backoff'>,
  killAt: string | null = null,
): Child {
  const plan = { ...address, ledger: ledger.path, killAt, worker };
  const child: ChildProcess = fork(PROGRAM, [JSON.stringify(plan)], { execArgv: [] });
  const gone = new Promise((resolve) => void child.once('exit', resolve));
  const ready = Promise.race([gone, new Promise((resolve) => void child.once('message', resolve))]);
  atEnd(async () => {
    child.kill('SIGKILL');
    await gone;
  });
  return {
    pid: child.pid ?? 0,
    ready,
    gone,
    async kill() {
      child.kill('SIGKILL');
      return gone;
    },
    async stop() {
      if (child.connected) child.send('stop');
      return gone;
    },
  };
}
