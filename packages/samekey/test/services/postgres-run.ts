/**
 * A PostgreSQL server as processes on a data folder: made by initdb, started, killed with all of its processes, frozen, thawed,
 * started again. fsync is on, as it is for users.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { allGone, freePort, processTree, roomyMemory, serverUser, signalAll } from './machine.ts';
import { startWatchdog } from './watchdog.ts';

/** A folder with a database in it, and the programs that made it. */
export interface DataFolder {
  readonly bin: string;
  /** For what the server writes beside its data. */
  readonly folder: string;
  readonly data: string;
  remove(): void;
}

/** A server on such a folder. */
export interface ServerProcess {
  readonly port: number;
  url(database?: string): string;
  start(): Promise<void>;
  /** All of its processes at once, as when the machine loses them. */
  kill(): Promise<void>;
  /** In order. */
  end(): Promise<void>;
  /** SIGSTOP for all of its processes; what it returns lets them go on. */
  freeze(): () => void;
  /** The main process; 0 when it is not running. */
  pid(): number;
}

/** Where data lies: a file system in memory (when there is room) is quicker, a disk is what users have. */
export type Medium = 'memory' | 'disk';

/** Makes an empty database. */
export function initDataFolder(bin: string, medium: Medium): DataFolder {
  const made = emptyDataFolder(bin, medium);
  execFileSync(
    join(bin, 'initdb'),
    ['-D', made.data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
    { ...serverUser(), cwd: made.folder, stdio: 'pipe' },
  );
  return made;
}

/** A copy of a database that no server runs on: what a standby may start from. */
export function copyDataFolder(from: DataFolder, medium: Medium): DataFolder {
  const made = emptyDataFolder(from.bin, medium);
  cpSync(from.data, made.data, { recursive: true, preserveTimestamps: true });
  const user = serverUser();
  if (user !== undefined) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, made.data]);
  return made;
}

function emptyDataFolder(bin: string, medium: Medium): DataFolder {
  const parent = (medium === 'memory' ? roomyMemory() : undefined) ?? tmpdir();
  const folder = mkdtempSync(join(parent, 'samekey-postgres-'));
  chmodSync(folder, 0o755);
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o700 });
  const user = serverUser();
  if (user !== undefined) chownSync(data, user.uid, user.gid);
  return { bin, folder, data, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A server that is not started yet; `settings` as in postgresql.conf. */
export async function serverOn(
  place: DataFolder,
  name: string,
  settings: Readonly<Record<string, string>>,
): Promise<ServerProcess> {
  const port = await freePort();
  const url = (database = 'postgres'): string => `postgres://postgres@127.0.0.1:${port}/${database}`;
  const flags = Object.entries({
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    shared_buffers: '64MB',
    ...settings,
  }).flatMap(([setting, value]) => ['-c', `${setting}=${value}`]);
  const watchdog = startWatchdog(place.folder, 'data/postmaster.pid', 'QUIT');
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    // Right after a kill something of the old server may still hold its shared memory: tried again for some seconds.
    for (let tries = 1; ; tries += 1) {
      const started = spawn(join(place.bin, 'postgres'), ['-D', place.data, '-p', String(port), ...flags], {
        ...serverUser(),
        cwd: place.folder,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      child = started;
      const log = await answering(started, url());
      if (log === undefined) return;
      if (tries === 20) throw new Error(`${name} did not start:\n${log}`);
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }

  /** The child, if it runs; from now on it is nobody's. */
  function taken(): ChildProcess | undefined {
    const running = child?.exitCode === null && child.signalCode === null ? child : undefined;
    child = undefined;
    return running;
  }

  return {
    port,
    url,
    start,
    async kill() {
      const ending = taken();
      if (ending === undefined) return;
      const tree = processTree(ending.pid ?? 0);
      signalAll(tree, 'SIGKILL');
      await allGone(tree);
    },
    async end() {
      const ending = taken();
      if (ending === undefined) {
        watchdog.kill();
        return;
      }
      const gone = new Promise<void>((resolve) => void ending.once('exit', () => resolve()));
      // A frozen one hears nothing else.
      signalAll(processTree(ending.pid ?? 0), 'SIGCONT');
      ending.kill('SIGINT');
      await gone;
      watchdog.kill();
    },
    freeze() {
      const tree = processTree(child?.pid ?? 0);
      signalAll(tree, 'SIGSTOP');
      return () => signalAll(tree, 'SIGCONT');
    },
    pid: () => child?.pid ?? 0,
  };
}

/** Undefined once it answers, else what it wrote before it went. */
async function answering(child: ChildProcess, url: string): Promise<string | undefined> {
  let log = '';
  child.stderr?.on('data', (bytes: Buffer) => {
    log = `${log}${bytes.toString()}`.slice(-4_000);
  });
  for (const until = Date.now() + 30_000; Date.now() < until && child.exitCode === null; ) {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.end();
      return undefined;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
  child.kill('SIGKILL');
  return log;
}
