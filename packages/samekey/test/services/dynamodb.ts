/**
 * DynamoDB for tests. Two stand-ins come from npm and run as processes of their own: dynalite, which has no transactions and tells no
 * item when a condition fails, so that whatever needs these must do without; and dynoxide, which has both, on Linux (elsewhere by
 * `dynoxide` on PATH). `SAMEKEY_TEST_DYNAMODB_URL` adds one that somebody else runs, such as DynamoDB Local or AWS itself. Neither
 * stand-in delays its indexes or throttles: what depends on that is not tested here.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { type BodyStore, createTableInput, fileBodies } from 'samekey/stores/dynamodb';
import { freePort, roomyMemory } from './machine.ts';
import { startWatchdog } from './watchdog.ts';
import { lack, programOnPath } from './lacking.ts';

/** Where a server comes from. */
export interface DynamoDbSource {
  readonly name: 'dynalite' | 'dynoxide' | 'DynamoDB by URL';
  /** Whether it has `TransactWriteItems`, and tells the item that stood where a condition failed. */
  readonly transactions: boolean;
  /** The program of dynoxide, or the URL. */
  readonly at?: string;
}

/** A running server. */
export interface DynamoDbServer {
  readonly url: string;
  readonly source: DynamoDbSource;
  /** Makes an empty table and returns its name. */
  createTable(): Promise<string>;
  /** As a crash: at once. What dynalite held is gone with it. */
  kill(): Promise<void>;
  /** After `kill`. */
  restart(): Promise<void>;
  /** Stops it with SIGSTOP; what it returns lets it go on. */
  freeze(): () => void;
  stop(): Promise<void>;
}

/** A client for it; `destroy` ends its connections. */
export function dynamoClient(url: string, more: { readonly maxAttempts?: number } = {}): DynamoDB {
  return new DynamoDB({
    endpoint: url,
    region: 'eu-central-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    ...more,
  });
}

/** The servers that this machine can run, the most capable one last. */
export function availableDynamoDb(): readonly DynamoDbSource[] {
  const sources: DynamoDbSource[] = [{ name: 'dynalite', transactions: false }];
  const program = dynoxide();
  if (program !== undefined) sources.push({ name: 'dynoxide', transactions: true, at: program });
  const url = process.env['SAMEKEY_TEST_DYNAMODB_URL'];
  if (url !== undefined) sources.push({ name: 'DynamoDB by URL', transactions: true, at: url });
  if (sources.length === 1) missing();
  return sources;
}

/** Only those that have transactions. */
export function transactionalDynamoDb(): readonly DynamoDbSource[] {
  return availableDynamoDb().filter(({ transactions }) => transactions);
}

function dynoxide(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve('@dynoxide/linux-x64/dynoxide');
  } catch {
    // Not this platform's.
    return programOnPath('dynoxide');
  }
}

function missing(): void {
  lack(
    'tests with transactions of DynamoDB: there is no dynoxide, which npm ci brings on Linux (x64)',
    'Put it on PATH, or set SAMEKEY_TEST_DYNAMODB_URL',
  );
}

/** Starts a server; by itself the most capable one. */
export async function startDynamoDb(
  source: DynamoDbSource = availableDynamoDb().at(-1) as DynamoDbSource,
): Promise<DynamoDbServer> {
  if (source.name === 'DynamoDB by URL') return serverAt(source, source.at ?? '', notOurs);
  const port = await freePort();
  const folder = mkdtempSync(join(roomyMemory() ?? tmpdir(), 'samekey-dynamodb-'));
  let child: ChildProcess | undefined;
  let watchdog: ReturnType<typeof startWatchdog> | undefined;

  async function start(): Promise<void> {
    const started =
      source.name === 'dynalite'
        ? spawn(process.execPath, dynaliteArguments(port), { stdio: 'ignore' })
        : spawn(source.at ?? '', dynoxideArguments(port, folder), { stdio: 'ignore' });
    child = started;
    watchdog = startWatchdog(folder, started.pid ?? 0);
    await answering(started, port, source.name);
  }

  async function kill(): Promise<void> {
    const ending = child;
    child = undefined;
    watchdog?.kill();
    if (ending === undefined || ending.exitCode !== null) return;
    const ended = new Promise((resolve) => ending.once('exit', resolve));
    ending.kill('SIGKILL');
    await ended;
  }

  const atExit = (): void => {
    child?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', atExit);
  await start();
  return serverAt(source, `http://127.0.0.1:${port}`, {
    kill,
    restart: start,
    freeze() {
      child?.kill('SIGSTOP');
      return () => void child?.kill('SIGCONT');
    },
    async stop() {
      await kill();
      process.off('exit', atExit);
      rmSync(folder, { recursive: true, force: true });
    },
  });
}

function dynoxideArguments(port: number, folder: string): readonly string[] {
  return ['serve', '--host', '127.0.0.1', '--port', String(port), '--db-path', join(folder, 'tables.db')];
}

function dynaliteArguments(port: number): readonly string[] {
  const program = createRequire(import.meta.url).resolve('dynalite/cli.js');
  const times = ['--createTableMs', '0', '--deleteTableMs', '0', '--updateTableMs', '0'];
  return [program, '--host', '127.0.0.1', '--port', String(port), ...times];
}

async function answering(child: ChildProcess, port: number, name: string): Promise<void> {
  for (const until = Date.now() + 30_000; Date.now() < until && child.exitCode === null; ) {
    const isUp = await fetch(`http://127.0.0.1:${port}/`).then(
      (answer) => answer.text().then(() => true),
      () => false,
    );
    if (isUp) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  child.kill('SIGKILL');
  throw new Error(`${name} did not start.`);
}

const notOurs = {
  kill: () => Promise.reject(new Error('This server is somebody else’s: it is not killed here.')),
  restart: async () => undefined,
  freeze: () => () => undefined,
  stop: async () => undefined,
};

let tables = 0;

function serverAt(
  source: DynamoDbSource,
  url: string,
  ends: Pick<DynamoDbServer, 'kill' | 'restart' | 'freeze' | 'stop'>,
): DynamoDbServer {
  const client = dynamoClient(url);
  return {
    ...ends,
    url,
    source,
    async createTable() {
      tables += 1;
      const name = `samekey-${process.pid}-${tables}`;
      await client.createTable(createTableInput(name));
      for (let active = false; !active; ) {
        const { Table } = await client.describeTable({ TableName: name });
        active = Table?.TableStatus === 'ACTIVE';
      }
      return name;
    },
    async stop() {
      client.destroy();
      await ends.stop();
    },
  };
}

/** Bodies as files of a folder of their own. */
export function temporaryBodies(): Required<BodyStore> & { remove(): void; readonly folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'samekey-bodies-'));
  return {
    ...fileBodies(folder),
    folder,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
