/** PgBouncer, in transaction mode if not told otherwise, in front of a database, from the system's package; skipped loudly where it is missing. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { freePort, serverUser } from './machine.ts';
import { lack, programOnPath } from './lacking.ts';

/** A running pooler. */
export interface PgBouncer {
  readonly url: string;
  /** With kill -9. */
  kill(): Promise<void>;
  /** After `kill`. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** The program, if this machine has it. */
export function pgBouncerProgram(): string | undefined {
  return (
    programOnPath('pgbouncer') ??
    lack('tests through PgBouncer, which is not on PATH', 'Run: apt-get install pgbouncer')
  );
}

/** Server connections that clients share: few, so that they really do. */
export const SERVER_CONNECTIONS = 3;

/** Starts it in front of the database, and of others on its server; the options as in its settings. */
export async function startPgBouncer(
  program: string,
  databaseUrl: string,
  {
    poolMode = 'transaction',
    poolSize = SERVER_CONNECTIONS,
  }: { readonly poolMode?: 'transaction' | 'statement'; readonly poolSize?: number } = {},
): Promise<PgBouncer> {
  const target = new URL(databaseUrl);
  const folder = mkdtempSync(join(tmpdir(), 'samekey-pgbouncer-'));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const settings = join(folder, 'pgbouncer.ini');
  writeFileSync(
    settings,
    `[databases]
; With auth_type any every client is this user.
* = host=${target.hostname} port=${target.port} user=${target.username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${poolMode}
default_pool_size = ${poolSize}
max_client_conn = 200
; A server that was killed is there again at once.
server_login_retry = 0.1
`,
  );
  const url = new URL(databaseUrl);
  url.port = String(port);
  let child = spawn(program, [settings], { ...serverUser(), stdio: 'ignore' });
  process.once('exit', () => child.kill('SIGKILL'));
  await answering(url.href);

  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  return {
    url: url.href,
    kill,
    async restart() {
      child = spawn(program, [settings], { ...serverUser(), stdio: 'ignore' });
      await answering(url.href);
    },
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function answering(url: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const client = new Client({ connectionString: url });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (tries === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
