/**
 * Redis servers for tests: the one on PATH, or one given by URL. A file starts what it needs in a folder of its own and stops it at its
 * end, at the latest when the process exits. What is not there is named on the console, and fails where everything is required.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './machine.ts';

/** A running server. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** As a crash: at once, without a word. */
  kill(): Promise<void>;
  /** After `kill`. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Whether tests with Redis can run here. */
export function isRedisHere(): boolean {
  if (process.env['SAMEKEY_TEST_REDIS_URL'] !== undefined || programOf() !== undefined) return true;
  const message =
    'SKIPPED: tests with Redis: no redis-server on PATH. Run: apt-get install redis-server redis-sentinel';
  if (process.env['SAMEKEY_TEST_REQUIRE'] === 'all') throw new Error(message);
  console.warn(message);
  return false;
}

function programOf(): string | undefined {
  for (const program of ['redis-server', 'valkey-server']) {
    try {
      execFileSync(program, ['--version'], { stdio: 'ignore' });
      return program;
    } catch {
      // Not this one.
    }
  }
  return undefined;
}

/** Starts a server with an append-only file that is written through with each command; `settings` as in redis.conf. */
export async function startRedis(settings: Readonly<Record<string, string>> = {}): Promise<RedisServer> {
  const url = process.env['SAMEKEY_TEST_REDIS_URL'];
  const program = programOf();
  if (program === undefined) {
    return { url: url ?? '', port: 0, kill: notOurs, restart: notOurs, stop: async () => undefined };
  }
  const folder = mkdtempSync(join(tmpdir(), 'samekey-redis-'));
  const port = await freePort();
  const all = {
    bind: '127.0.0.1',
    dir: folder,
    appendonly: 'yes',
    appendfsync: 'always',
    save: '',
    'repl-diskless-sync-delay': '0',
    ...settings,
  };
  const flags = Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]);
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    child = spawn(program as string, ['--port', String(port), ...flags], { stdio: 'ignore' });
    const client = new Redis(port, '127.0.0.1', {
      retryStrategy: () => 20,
      maxRetriesPerRequest: 500,
      lazyConnect: false,
    });
    client.on('error', () => undefined);
    await client.ping();
    client.disconnect();
  }

  async function kill(): Promise<void> {
    const ending = child;
    child = undefined;
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
