/**
 * DynamoDB for tests: dynalite in a process of its own, in memory, or a real one by URL (`SAMEKEY_TEST_DYNAMODB_URL`, such as
 * DynamoDB Local). Dynalite keeps indexes at once, has no transactions, and tells no item when a condition fails: what depends on
 * these is not tested here.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { type BodyStore, createTableInput } from 'samekey/stores/dynamodb';

/** A running server. */
export interface DynamoDbServer {
  readonly url: string;
  /** Makes an empty table and returns its name. */
  createTable(): Promise<string>;
  stop(): Promise<void>;
}

/** A client for it; `destroy` ends its connections. */
export function dynamoClient(url: string): DynamoDB {
  return new DynamoDB({
    endpoint: url,
    region: 'eu-central-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
}

/** Starts a server, or uses the one by URL. */
export async function startDynamoDb(): Promise<DynamoDbServer> {
  const given = process.env['SAMEKEY_TEST_DYNAMODB_URL'];
  if (given !== undefined) return serverAt(given, async () => undefined);
  const port = await freePort();
  const program = createRequire(import.meta.url).resolve('dynalite/cli.js');
  const times = ['--createTableMs', '0', '--deleteTableMs', '0', '--updateTableMs', '0'];
  // It ends with its parent, however that ends: then its input does.
  const script = `process.stdin.on('end', () => process.exit()).resume(); require(${JSON.stringify(program)})`;
  const args = ['-e', script, '--', 'dynalite', '--host', '127.0.0.1', '--port', String(port), ...times];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const atExit = (): void => void child.kill('SIGKILL');
  process.once('exit', atExit);
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => resolve());
    child.once('exit', (code) => reject(new Error(`dynalite ended with ${code}.`)));
  });
  return serverAt(`http://127.0.0.1:${port}`, async () => {
    process.off('exit', atExit);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  });
}

let tables = 0;

function serverAt(url: string, stop: () => Promise<void>): DynamoDbServer {
  const client = dynamoClient(url);
  return {
    url,
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
      await stop();
    },
  };
}

/** Bodies as files of a folder of their own. */
export function fileBodies(): BodyStore & { remove(): void; readonly folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'samekey-bodies-'));
  const path = (name: string): string => join(folder, name.replaceAll('/', '_'));
  return {
    folder,
    put: (name, bytes) => writeFile(path(name), bytes),
    async get(name) {
      try {
        return await readFile(path(name));
      } catch {
        return null;
      }
    },
    delete: (name) => rm(path(name), { force: true }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
