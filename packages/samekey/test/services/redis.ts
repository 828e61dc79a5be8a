/**
 * Redis servers for tests: the one on PATH, the program that `SAMEKEY_TEST_REDIS_SERVER` names, or a server given by
 * `SAMEKEY_TEST_REDIS_URL`. A file starts what it needs in a folder of its own and stops it at its end, at the latest when the process
 * exits. What is not there is named on the console, and fails where everything is required.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './machine.ts';
import { startWatchdog } from './watchdog.ts';
import { lack, programOnPath } from './lacking.ts';

/** A running server. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** As a crash: at once, without a word. */
  kill(): Promise<void>;
  /** After `kill`. */
  restart(): Promise<void>;
  /** It keeps its connections and answers nothing until the function that is given is called. */
  freeze(): () => void;
  stop(): Promise<void>;
}

const LOADING_TRIES_MAX = 3_000;

/** How a server is started. */
export interface RedisStart {
  /** A server of Sentinel: `settings` are then lines of its file. */
  readonly sentinel?: readonly string[];
  readonly port?: number;
}

/** Whether tests with Redis can run here. */
export function isRedisHere(): boolean {
  if (process.env['SAMEKEY_TEST_REDIS_URL'] !== undefined || programOf() !== undefined) return true;
  lack('tests with Redis: no redis-server on PATH', 'Run: apt-get install redis-server');
  return false;
}

/** Whether servers of our own can be started, killed and joined: Sentinel and Cluster are made of them. */
export function areRedisGroupsHere(): boolean {
  return isRedisHere() && process.env['SAMEKEY_TEST_REDIS_URL'] === undefined;
}

function programOf(): string | undefined {
  const named = process.env['SAMEKEY_TEST_REDIS_SERVER'];
  return named ?? programOnPath('redis-server') ?? programOnPath('valkey-server');
}

/** Starts a server with an append-only file that is written through with each command; `settings` as in redis.conf. */
export async function startRedis(
  settings: Readonly<Record<string, string>> = {},
  { sentinel, port: wanted }: RedisStart = {},
): Promise<RedisServer> {
  const url = process.env['SAMEKEY_TEST_REDIS_URL'];
  const program = programOf();
  if (url !== undefined || program === undefined) {
    return {
      url: url ?? '',
      port: 0,
      kill: notOurs,
      restart: notOurs,
      freeze: () => () => undefined,
      stop: async () => undefined,
    };
  }
  const folder = mkdtempSync(join(tmpdir(), 'samekey-redis-'));
  const port = wanted ?? (await freePort());
  const all = {
    bind: '127.0.0.1',
    dir: folder,
    appendonly: 'yes',
    appendfsync: 'always',
    save: '',
    'repl-diskless-sync-delay': '0',
    ...settings,
  };
  const flags = Object.entries(all).flatMap(([name, value]) => [`--${name}`, ...value.split(' ')]);
  const file = join(folder, 'sentinel.conf');
  if (sentinel !== undefined) {
    // Sentinel writes what it learns into its file.
    writeFileSync(file, ['bind 127.0.0.1', `port ${port}`, `dir ${folder}`, ...sentinel, ''].join('\n'));
  }
  const args = sentinel === undefined ? ['--port', String(port), ...flags] : [file, '--sentinel'];
  let child: ChildProcess | undefined;
  let watchdog: ReturnType<typeof startWatchdog> | undefined;

  async function start(): Promise<void> {
    const started = spawn(program as string, args, { stdio: 'ignore' });
    child = started;
    watchdog = startWatchdog(folder, started.pid ?? 0);
    const client = new Redis(port, '127.0.0.1', {
      retryStrategy: () => 20,
      maxRetriesPerRequest: 500,
      lazyConnect: false,
      // A server of a cluster that is not whole yet is up.
      enableReadyCheck: settings['cluster-enabled'] === undefined,
    });
    client.on('error', () => undefined);
    // LOADING: its data is read first.
    for (let tries = 0; (await client.ping().catch(() => '')) !== 'PONG'; tries += 1) {
      if (tries === LOADING_TRIES_MAX) throw new Error(`the server on port ${port} does not come up`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    client.disconnect();
  }

  async function kill(): Promise<void> {
    const ending = child;
    child = undefined;
    watchdog?.kill();
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const gone = new Promise((resolve) => ending.once('exit', resolve));
    ending.kill('SIGKILL');
    await gone;
  }

  const atExit = (): void => {
    child?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', atExit);
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    kill,
    restart: start,
    freeze() {
      const frozen = child;
      frozen?.kill('SIGSTOP');
      return () => void frozen?.kill('SIGCONT');
    },
    async stop() {
      await kill();
      process.off('exit', atExit);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function notOurs(): Promise<void> {
  throw new Error('a server given by URL is not killed');
}
