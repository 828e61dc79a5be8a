/**
 * Several API processes on one store, for tests and proofs: start, catch at a probe point, kill, freeze, stop in order,
 * start again. All waiting is for messages of a process or for its end.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from 'samekey';
import { type LedgerLine, readLedger } from './api-ledger.ts';
import type { ApiOptions, FromApi, ToApi, Trap } from './api-protocol.ts';
import type { Backend, Place } from './backends/backend.ts';
import { openStore } from './backends/index.ts';
import { programOf } from './program.ts';

/** How a process ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A trap that lies ready. */
export interface ArmedTrap {
  /** The key whose flow was caught (`stop`, `wait`). */
  readonly reached: Promise<string>;
  /** Lets a `wait` trap's flow go on. */
  go(): Promise<void>;
}

/** A running API process. */
export interface ApiProcess {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  readonly ended: Promise<Ended>;
  /** Whether it may answer: neither ended nor told to stop. */
  isUp(): boolean;
  /** The names of the events it told, with their keys. */
  readonly events: readonly { readonly name: string; readonly key: string | null }[];
  /** What `close` left running; null until it stopped in order. */
  left(): number | null;
  arm(trap: Trap): Promise<ArmedTrap>;
  disarm(): Promise<void>;
  loseReplies(verb: 'claim' | 'finish', count: number): Promise<void>;
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 'SIGTERM'): void;
}

/** API processes that share a store. */
export interface Cluster {
  readonly claimTtlMs: number;
  readonly backend: Backend;
  /** A store of this process on the same records, for the operator's hand. */
  readonly store: Store;
  /** By place; a restart replaces the one in its place. */
  readonly processes: readonly ApiProcess[];
  restart(at: number): Promise<ApiProcess>;
  /** Those that may answer. */
  up(): ApiProcess[];
  ledger(): LedgerLine[];
  /** Ends all processes and removes their records; the backend stays. */
  close(): Promise<void>;
}

/** Options of a cluster; the rest goes to each process. */
export interface ClusterOptions extends Omit<ApiOptions, 'name' | 'store' | 'ledgerPath'> {
  readonly backend: Backend;
  /** Where on the backend; default an empty place of its own. */
  readonly place?: Place;
  readonly size: number;
}

/** Starts the processes, all at once. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { size, backend, place: given, ...shared } = options;
  const place = given ?? (await backend.createPlace());
  const folder = mkdtempSync(join(tmpdir(), 'samekey-ledger-'));
  const ledgerPath = join(folder, 'ledger.jsonl');
  writeFileSync(ledgerPath, '');
  const opened = await openStore(place.direct);
  await opened.store.migrate();
  await opened.store.ready();
  const start = (at: number): Promise<ApiProcess> =>
    startProcess({ ...shared, name: `api-${at}`, store: place.address, ledgerPath });

  const processes = await Promise.all(Array.from({ length: size }, (_, at) => start(at)));
  return {
    claimTtlMs: options.claimTtlMs,
    backend,
    store: opened.store,
    processes,
    async restart(at) {
      const started = await start(at);
      processes[at] = started;
      return started;
    },
    up: () => processes.filter((process) => process.isUp()),
    ledger: () => readLedger(ledgerPath),
    async close() {
      for (const process of processes) process.signal('SIGKILL');
      await Promise.all(processes.map((process) => process.ended));
      await opened.close();
      await place.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startProcess(options: ApiOptions): Promise<ApiProcess> {
  const child = fork(programOf('api-server'), [JSON.stringify(options)], {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit').then(
    ([code, signal]): Ended => ({ code: code as number | null, signal: signal as NodeJS.Signals | null }),
  );
  const talk = createTalk(child);
  const port = await Promise.race([
    talk.ready,
    ended.then((how) =>
      Promise.reject(new Error(`${options.name} ended at its start: ${JSON.stringify(how)}`)),
    ),
  ]);
  let up = true;
  void ended.then(() => {
    up = false;
  });
  let traps = 0;
  return {
    name: options.name,
    pid: child.pid ?? 0,
    port,
    ended,
    isUp: () => up,
    events: talk.events,
    left: () => talk.left,
    async arm(trap) {
      traps += 1;
      const id = traps;
      const reached = talk.reached(id);
      await talk.say({ type: 'arm', id, trap });
      return { reached, go: () => talk.say({ type: 'go', id }) };
    },
    disarm: () => talk.say({ type: 'disarm' }),
    loseReplies: (verb, count) => talk.say({ type: 'lose-replies', verb, count }),
    signal(signal) {
      if (signal === 'SIGTERM') up = false;
      child.kill(signal);
    },
  };
}

interface Talk {
  readonly ready: Promise<number>;
  readonly events: { readonly name: string; readonly key: string | null }[];
  left: number | null;
  reached(id: number): Promise<string>;
  /** Resolves when the process has done it. */
  say(message: ToApi): Promise<void>;
}

function createTalk(child: ChildProcess): Talk {
  const events: Talk['events'] = [];
  const waitingForTraps = new Map<number, (key: string) => void>();
  const waitingForDone: (() => void)[] = [];
  let ready: (port: number) => void;
  const talk: Talk = {
    ready: new Promise((resolve) => {
      ready = resolve;
    }),
    events,
    left: null,
    reached: (id) => new Promise((resolve) => void waitingForTraps.set(id, resolve)),
    say: (message) =>
      new Promise((resolve, reject) => {
        waitingForDone.push(resolve);
        child.send(message, (error) => {
          if (error !== null) reject(error);
        });
      }),
  };
  child.on('message', (message: FromApi) => {
    switch (message.type) {
      case 'ready':
        return ready(message.port);
      case 'done':
        return waitingForDone.shift()?.();
      case 'reached':
        return waitingForTraps.get(message.id)?.(message.key);
      case 'event':
        return void events.push({ name: message.name, key: message.key });
      case 'closed':
        talk.left = message.left;
        return undefined;
      default:
        return message satisfies never;
    }
  });
  return talk;
}
