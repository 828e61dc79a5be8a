/** The Fetch door in workerd, the runtime of Cloudflare Workers: no server of its own, and nothing begun while a module is loaded. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lack } from '../services/lacking.ts';

const WORKERD = fileURLToPath(
  new URL('../../../../tools/optional/node_modules/workerd/bin/workerd', import.meta.url),
);
const ENTRY = fileURLToPath(new URL('worker.ts', import.meta.url));

const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [(name = "worker", esModule = embed "worker.mjs")], compatibilityDate = "2026-11-01"))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);`;

const isHere =
  existsSync(WORKERD) ||
  lack('the Fetch door on Workers: workerd is not installed', 'Run: npm ci --prefix tools/optional');

describe.skipIf(isHere === undefined)('the Fetch door on Workers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'samekey-workers-'));
  let workerd: ChildProcess;
  let port = 0;

  beforeAll(async () => {
    const made = await rolldown({
      input: ENTRY,
      platform: 'browser',
      logLevel: 'silent',
      resolve: { conditionNames: ['@samekey/source', 'import', 'default'] },
    });
    await made.write({ file: join(folder, 'worker.mjs'), format: 'esm' });
    await made.close();
    writeFileSync(join(folder, 'config.capnp'), CONFIG);
    const stdio = ['ignore', 'inherit', 'inherit', 'pipe'] as const;
    workerd = spawn(WORKERD, ['serve', '--control-fd=3', 'config.capnp'], { cwd: folder, stdio: [...stdio] });
    const ended = once(workerd, 'exit').then(([code]) => Promise.reject(new Error(`workerd ended: ${code}`)));
    ended.catch(() => undefined);
    const [said] = (await Promise.race([once(workerd.stdio[3] as Readable, 'data'), ended])) as [Buffer];
    ({ port } = JSON.parse(said.toString()) as { readonly port: number });
  });
  afterAll(() => {
    workerd.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  async function ask(key: string, body: object): Promise<{ readonly status: number; readonly said: string }> {
    const answer = await fetch(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      headers: { 'idempotency-key': `"${key}"`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const replayed = answer.headers.get('idempotency-replayed') ?? 'false';
    return { status: answer.status, said: `${replayed} ${await answer.text()}` };
  }

  it('runs once and replays, also for an instance that was made while the module was loaded', async () => {
    expect(await ask('key-1', {})).toEqual({ status: 201, said: 'false {"run":1}' });
    expect(await ask('key-1', {})).toEqual({ status: 201, said: 'true {"run":1}' });
    expect(await ask('key-1', { other: 1 })).toMatchObject({
      status: 422,
      said: expect.stringContaining('key-reused') as string,
    });
  });

  it('keeps requests apart that run at the same time, each with what the runtime lets it wait for', async () => {
    const same = await Promise.all(Array.from({ length: 5 }, () => ask('key-2', { slowMs: 300 })));
    expect(same.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409, 409, 409]);
    const keys = Array.from({ length: 20 }, (_, n) => `many-${n}`);
    const first = await Promise.all(keys.map((key) => ask(key, { slowMs: 20 })));
    const again = await Promise.all(keys.map((key) => ask(key, { slowMs: 20 })));
    expect(again.map(({ said }) => said)).toEqual(first.map(({ said }) => said.replace('false', 'true')));
  });
});
