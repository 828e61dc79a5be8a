import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../src/demo/listen.ts';
import { Command, freshFolder, MAIN } from './running-demo.ts';

describe('the command line', () => {
  const folder = freshFolder();
  let taken: Server;
  let port: number;
  beforeAll(async () => {
    taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    ({ port } = taken.address() as AddressInfo);
  });
  afterAll(() => {
    taken.close();
    folder.remove();
  });

  it('prints the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    const command = new Command(['--version']);
    expect(await command.ended()).toBe(0);
    expect(command.lines).toEqual([version]);
  });

  it('ends without a stack trace, and with its own exit code, when its reader has left (F94)', async () => {
    const file = join(folder.dir, 'left.db');
    expect(await new Command(['migrate', '--service', 'shop', '--database', file]).ended()).toBe(0);
    // The reader is gone before the first line: every write fails with EPIPE.
    const command = spawn(process.execPath, [MAIN, 'doctor', '--database', file], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    command.stdout.destroy();
    let complaints = '';
    command.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
    const [code] = await once(command, 'close');
    expect({ code, complaints }).toEqual({ code: 0, complaints: '' });
  });

  it('says in one line that a port asked for is in use, and what to do', async () => {
    const line = `samekey: Port ${port} is in use: stop the program that uses it, or choose another with --port (0: any free one).`;
    const args = ['demo', '--dir', folder.dir];
    expect(await complaint([...args, '--port', String(port)])).toEqual({ code: 1, line });
    expect(await complaint(args, { PORT: String(port) })).toEqual({ code: 1, line });
  });

  it('takes the next free port when none was asked for', async () => {
    const { server, origin } = await listen(() => undefined, { number: port, asked: false });
    server.close();
    expect(Number(new URL(origin).port)).toBeGreaterThan(port);
  });

  it('says in one line that a folder cannot be used, and why', async () => {
    writeFileSync(join(folder.dir, 'file'), '');
    const { code, line } = await complaint(['demo', '--port', '0', '--dir', join(folder.dir, 'file')]);
    expect(code).toBe(1);
    expect(line).toContain('cannot be used: it is a file.');
    const missing = await complaint(['demo', '--port', '0', '--dir', join(folder.dir, 'no', 'such')]);
    expect(missing.code).toBe(1);
    expect(missing.line).toContain('the folder above it does not exist');
  });

  it('takes the address of the pages from its operator, and says of what is none', async () => {
    const args = ['inspect', '--database', 'redis://127.0.0.1:1/0?service=shop'];
    const { code, line } = await complaint(args, { SAMEKEY_DOCS_URL: 'docs.shop.example' });
    expect(code).toBe(1);
    expect(line).toContain('docsAt takes an http or https URL');
  });

  it('refuses options that make no sense', async () => {
    for (const flags of [['--exit'], ['--seed', '1'], ['--unprotected'], ['--load', '--chaos']]) {
      expect((await complaint(['demo', ...flags])).code).toBe(1);
    }
    expect((await complaint(['demo'], { PORT: 'here' })).code).toBe(1);
  });
});

/** Runs to its end: the exit code and the one line it complains with. */
async function complaint(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const command = new Command(args, env);
  const code = await command.ended();
  expect(command.lines).toEqual([]);
  const lines = command.stderr.trimEnd().split('\n');
  expect(lines, command.stderr).toHaveLength(1);
  return { code, line: lines[0] };
}
