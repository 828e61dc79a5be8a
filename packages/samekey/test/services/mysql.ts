/**
 * Servers for tests: MariaDB, found on PATH; MySQL, whose `mysqld` SAMEKEY_TEST_MYSQLD names; and one that somebody else runs, by URL. A test file starts what it needs in a
 * folder of its own and stops it at its end, at the latest when the process ends. A missing server is named on the console, and fails
 * where everything is required.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { allGone, freePort, processTree, roomyMemory, signalAll } from './machine.ts';
import { startWatchdog } from './watchdog.ts';
import { lack, programOnPath } from './lacking.ts';

/** Where a server comes from. */
export interface MysqlSource {
  readonly name: string;
  /** The programs; null for a server somebody else runs. MySQL makes its folder itself. */
  readonly programs: { readonly install: string | null; readonly server: string } | null;
  readonly url?: string;
}

/** A running server. */
export interface MysqlServer {
  readonly name: string;
  /** Makes an empty database and returns its URL. */
  createDatabase(): Promise<string>;
  /** The URL that it is reached by. */
  url(): string;
  /** As a crash: the server at once. */
  kill(): Promise<void>;
  /** After `kill`. */
  restart(): Promise<void>;
  /** Stops it with SIGSTOP; what it returns lets it go on. */
  freeze(): () => void;
  /** Of the server's process. */
  pid(): number;
  stop(): Promise<void>;
}

/** The servers that this machine can run. */
export function availableMysql(): readonly MysqlSource[] {
  const sources: MysqlSource[] = [];
  const [install, server] = [programOnPath('mariadb-install-db'), programOnPath('mariadbd')];
  if (install !== undefined && server !== undefined)
    sources.push({ name: 'MariaDB', programs: { install, server } });
  const mysqld = process.env['SAMEKEY_TEST_MYSQLD'];
  if (mysqld !== undefined) sources.push({ name: 'MySQL', programs: { install: null, server: mysqld } });
  const url = process.env['SAMEKEY_TEST_MYSQL_URL'];
  if (url !== undefined) sources.push({ name: 'MySQL by URL', programs: null, url });
  if (sources.length === 0) {
    lack(
      'tests with MySQL or MariaDB: there is no server on PATH',
      'Run: apt-get install mariadb-server, or set SAMEKEY_TEST_MYSQLD or SAMEKEY_TEST_MYSQL_URL',
    );
  }
  return sources;
}

/** Starts a server; `settings` as its options. */
export async function startMysql(
  source: MysqlSource,
  settings: Readonly<Record<string, string>> = {},
  medium: 'memory' | 'disk' = 'memory',
): Promise<MysqlServer> {
  const { programs, name } = source;
  if (programs === null) return runningServer(name, source.url ?? '');
  const folder = mkdtempSync(
    join((medium === 'memory' ? roomyMemory() : undefined) ?? tmpdir(), 'samekey-mysql-'),
  );
  chmodSync(folder, 0o755);
  const data = join(folder, 'data');
  const user = serverUser();
  // A server that starts deletes what it takes for temporary tables left behind, those of other servers in one folder too.
  const env = { ...process.env, TMPDIR: join(folder, 'temporary') };
  execFileSync('mkdir', [data, env.TMPDIR]);
  if (user !== undefined) execFileSync('chown', [`${user.uid}:${user.gid}`, data, env.TMPDIR]);
  makeFolder(programs, data, user !== undefined, env);
  const port = await freePort();
  const url = `mysql://root@127.0.0.1:${port}/mysql`;
  const flags = Object.entries({
    datadir: data,
    port: String(port),
    bind_address: '127.0.0.1',
    socket: join(data, 's.sock'),
    pid_file: join(data, 'server.pid'),
    max_connections: '300',
    ...settings,
  }).map(([setting, value]) => `--${setting.replaceAll('_', '-')}${value === '' ? '' : `=${value}`}`);
  const watchdog = startWatchdog(folder, 'data/server.pid');
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const started = spawn(programs?.server ?? '', ['--no-defaults', ...flags], {
      ...user,
      cwd: folder,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child = started;
    await answering(started, url, name);
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const ending = child;
    child = undefined;
    if (ending === undefined || ending.exitCode !== null) return;
    const tree = processTree(ending.pid ?? 0);
    // A frozen one hears nothing else.
    signalAll(tree, 'SIGCONT');
    signalAll(tree, signal);
    await allGone(tree);
  }

  await start();
  return {
    ...runningServer(name, url),
    kill: () => end('SIGKILL'),
    restart: start,
    pid: () => child?.pid ?? 0,
    freeze() {
      const tree = processTree(child?.pid ?? 0);
      signalAll(tree, 'SIGSTOP');
      return () => signalAll(tree, 'SIGCONT');
    },
    async stop() {
      await end('SIGTERM');
      watchdog.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function makeFolder(
  { install, server }: NonNullable<MysqlSource['programs']>,
  data: string,
  isRoot: boolean,
  env: NodeJS.ProcessEnv,
): void {
  const how = ['--skip-test-db', '--auth-root-authentication-method=normal'];
  const options = [
    '--no-defaults',
    `--datadir=${data}`,
    ...(isRoot ? ['--user=mysql'] : []),
    ...(install === null ? ['--initialize-insecure'] : how),
  ];
  execFileSync(install ?? server, options, { stdio: 'pipe', cwd: dirname(data), env });
}

/** The server refuses to run as root. */
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const [uid = 0, gid = 0] = ['-u', '-g'].map((what) =>
    Number(execFileSync('id', [what, 'mysql'], { stdio: 'pipe' }).toString()),
  );
  return { uid, gid };
}

async function answering(child: ChildProcess, url: string, name: string): Promise<void> {
  let log = '';
  child.stderr?.on('data', (bytes: Buffer) => {
    log = `${log}${bytes.toString()}`.slice(-4_000);
  });
  for (const until = Date.now() + 30_000; Date.now() < until && child.exitCode === null; ) {
    try {
      const connection = await createConnection(url);
      await connection.end();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
  child.kill('SIGKILL');
  throw new Error(`${name} did not start:\n${log}`);
}

let databases = 0;

function runningServer(name: string, address: string): MysqlServer {
  const notOurs = async (): Promise<never> => {
    throw new Error(`${name} is not run by the tests.`);
  };
  return {
    name,
    url: () => address,
    async createDatabase() {
      databases += 1;
      // A server of somebody else's still has those of earlier runs, and numbers of processes come again.
      const database = `samekey_${Date.now().toString(36)}_${process.pid}_${databases}`;
      const connection = await createConnection(address);
      await connection.query(`CREATE DATABASE ${database} CHARACTER SET utf8mb4`);
      await connection.end();
      const parsed = new URL(address);
      parsed.pathname = `/${database}`;
      return parsed.href;
    },
    kill: notOurs,
    restart: notOurs,
    freeze() {
      throw new Error(`${name} is not run by the tests.`);
    },
    pid: () => 0,
    stop: async () => undefined,
  };
}

/** How often a statement has had to wait for a row lock, by the server's own count. */
export async function lockWaits(connection: Connection): Promise<number> {
  const [rows] = await connection.query<RowDataPacket[]>("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_waits'");
  return Number(rows[0]?.['Value']);
}
