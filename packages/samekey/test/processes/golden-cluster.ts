/**
 * The golden path's installation: API processes and workers on one database server, and a provider, each a process of its own. Any of
 * them can be killed and is replaced; all waiting is for messages of a process or for its end.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MysqlStore } from 'samekey/stores/mysql';
import type { PostgresStore } from 'samekey/stores/postgres';
import type { PostgresServer } from '../services/postgres.ts';
import type { Ended } from './api-cluster.ts';
import type { Trap } from './api-protocol.ts';
import { type GoldenDatabase, openGoldenDatabase } from './golden-database.ts';
import type { FromGolden, GoldenOptions, ToGolden } from './golden-protocol.ts';
import type { ProviderFaults, ProviderLedger } from './payment-provider.ts';
import { programOf } from './program.ts';

/** A running process. */
export interface GoldenProcess {
  readonly name: string;
  readonly role: GoldenOptions['role'];
  /** 0 for a worker. */
  readonly port: number;
  readonly ended: Promise<Ended>;
  isUp(): boolean;
  readonly events: readonly { readonly name: string; readonly key: string | null }[];
  /** What `close` left running; null until it stopped in order. */
  left(): number | null;
  /** Lays a trap; `reached` for `stop` and `wait`. Rejects when the process has ended. */
  arm(trap: Trap): Promise<{ readonly reached: Promise<string>; go(): Promise<void> }>;
  disarm(): Promise<void>;
  work(on: boolean): Promise<void>;
  signal(signal: NodeJS.Signals): void;
}

/** The provider's control. */
export interface Provider {
  readonly port: number;
  readonly controlPort: number;
  /** Payments and calls whose references begin so. */
  ledger(reference?: string): Promise<ProviderLedger>;
  setFaults(faults: ProviderFaults): Promise<void>;
  /** Refuses connections for a while. */
  refuse(forMs: number): Promise<void>;
  forget(): Promise<void>;
}

/** A PostgreSQL, or a MySQL or MariaDB, that can be killed. */
export type GoldenServer = Pick<PostgresServer, 'createDatabase' | 'kill' | 'restart'>;

/** All of it. */
export interface Golden {
  readonly claimTtlMs: number;
  readonly server: GoldenServer;
  readonly provider: Provider;
  /** On the same database, for the harness. */
  readonly database: GoldenDatabase;
  readonly store: PostgresStore | MysqlStore;
  /** By place; who ended is replaced in its place. */
  readonly apis: readonly GoldenProcess[];
  readonly workers: readonly GoldenProcess[];
  /** Who ended by itself, which nobody may. */
  readonly fallen: string[];
  /** Resolves when everyone who was killed or stopped has a successor. */
  whole(): Promise<void>;
  close(): Promise<void>;
}

/** Options of an installation. */
export interface GoldenClusterOptions
  extends Partial<Pick<GoldenOptions, 'isolation' | 'claimTtlMs' | 'callTimeMaxMs' | 'retentionMs'>> {
  readonly server: GoldenServer;
  /** The database as the processes reach it; default directly. */
  readonly through?: (url: string) => string;
  readonly apis: number;
  readonly workers: number;
}

/** Three renewals fit, and so does a call. */
export const GOLDEN_TIMES = { claimTtlMs: 900, callTimeMaxMs: 300 } as const;

/** Starts it; the server stays when it is closed. */
export async function startGolden(options: GoldenClusterOptions): Promise<Golden> {
  const { server, through = (url) => url, isolation = 'read committed' } = options;
  const url = await server.createDatabase();
  const database = openGoldenDatabase(url, 2);
  await database.prepare();
  const folder = mkdtempSync(join(tmpdir(), 'samekey-provider-'));
  const provider = await startProvider(join(folder, 'provider.db'));
  const times = { ...GOLDEN_TIMES, ...defined(options) };
  const shared = { databaseUrl: through(url), providerPort: provider.port, isolation, ...times };
  const replacing = new Set<Promise<void>>();
  const fallen: string[] = [];
  let isClosing = false;

  const fill = async (places: GoldenProcess[], at: number, role: GoldenOptions['role']): Promise<void> => {
    // Every third as before a deploy of the option.
    const reserve = at % 3 === 2 || url.startsWith('mysql:') ? 'before' : 'in-transaction';
    const started = await startGoldenProcess({ ...shared, role, reserve, name: `${role}-${at}` });
    places[at] = started;
    void started.ended.then(({ code, signal }) => {
      if (isClosing) return;
      if (signal !== 'SIGKILL' && started.left() === null) fallen.push(`${started.name} (${code ?? signal})`);
      const work = fill(places, at, role).finally(() => replacing.delete(work));
      replacing.add(work);
    });
  };
  const [apis, workers]: [GoldenProcess[], GoldenProcess[]] = [[], []];
  await Promise.all([
    ...Array.from({ length: options.apis }, (_, at) => fill(apis, at, 'api')),
    ...Array.from({ length: options.workers }, (_, at) => fill(workers, at, 'worker')),
  ]);
  return {
    claimTtlMs: shared.claimTtlMs,
    server,
    provider,
    database,
    store: database.store,
    apis,
    workers,
    fallen,
    async whole() {
      while (replacing.size > 0) await Promise.all(replacing);
    },
    async close() {
      isClosing = true;
      const all = [...apis, ...workers];
      for (const process of all) process.signal('SIGKILL');
      await Promise.all(all.map(({ ended }) => ended));
      await provider.stop();
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function defined(
  options: GoldenClusterOptions,
): Partial<Pick<GoldenOptions, 'claimTtlMs' | 'callTimeMaxMs'>> {
  const { claimTtlMs, callTimeMaxMs, retentionMs } = options;
  return {
    ...(claimTtlMs === undefined ? {} : { claimTtlMs }),
    ...(callTimeMaxMs === undefined ? {} : { callTimeMaxMs }),
    ...(retentionMs === undefined ? {} : { retentionMs }),
  };
}

/** One process; exported for those that are started in a way of their own. */
export async function startGoldenProcess(options: GoldenOptions): Promise<GoldenProcess> {
  const child = fork(programOf('golden-server'), [JSON.stringify(options)], {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = endOf(child);
  const events: { name: string; key: string | null }[] = [];
  const traps = new Map<number, (key: string) => void>();
  const done: (() => void)[] = [];
  let [up, left, count] = [true, null as number | null, 0];
  void ended.then(() => {
    up = false;
    // Whoever still waits for a word of it waits no longer.
    for (const resolve of done.splice(0)) resolve();
  });
  const ready = new Promise<number>((resolve) => {
    child.on('message', (message: FromGolden) => {
      if (message.type === 'ready') resolve(message.port);
      else if (message.type === 'done') done.shift()?.();
      else if (message.type === 'reached') traps.get(message.id)?.(message.key);
      else if (message.type === 'closed') left = message.left;
      else events.push({ name: message.name, key: message.key });
    });
  });
  const say = (message: ToGolden): Promise<void> =>
    new Promise((resolve) => {
      if (!up || !child.connected) return resolve();
      done.push(resolve);
      child.send(message, () => undefined);
      return undefined;
    });
  const port = await Promise.race([ready, failedStart(options.name, ended)]);
  return {
    name: options.name,
    role: options.role,
    port,
    ended,
    isUp: () => up,
    events,
    left: () => left,
    async arm(trap) {
      count += 1;
      const id = count;
      const reached = new Promise<string>((resolve) => void traps.set(id, resolve));
      await say({ type: 'arm', id, trap });
      return { reached, go: () => say({ type: 'go', id }) };
    },
    disarm: () => say({ type: 'disarm' }),
    work: (on) => say({ type: 'work', on }),
    signal(signal) {
      if (signal === 'SIGTERM') up = false;
      child.kill(signal);
    },
  };
}

/** A provider alone; its ledger is in a file. */
export async function startProvider(path: string): Promise<Provider & { stop(): Promise<void> }> {
  const child = fork(programOf('payment-provider'), [JSON.stringify({ path })], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = endOf(child);
  const ready = once(child, 'message').then(([message]) => message as { port: number; controlPort: number });
  const { port, controlPort } = await Promise.race([ready, failedStart('provider', ended)]);
  const control = async (method: string, what: string, body?: unknown): Promise<unknown> => {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`http://127.0.0.1:${controlPort}/${what}`, { method, ...init });
    return response.json();
  };
  return {
    port,
    controlPort,
    ledger: async (reference = '') =>
      (await control('GET', `ledger?reference=${encodeURIComponent(reference)}`)) as ProviderLedger,
    setFaults: async (faults) => void (await control('PUT', 'faults', faults)),
    refuse: async (forMs) => void (await control('POST', 'refuse', { forMs })),
    forget: async () => void (await control('POST', 'forget', {})),
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function endOf(child: ChildProcess): Promise<Ended> {
  return once(child, 'exit').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }));
}

async function failedStart(name: string, ended: Promise<Ended>): Promise<never> {
  throw new Error(`${name} ended at its start: ${JSON.stringify(await ended)}`);
}
