/** What the measurements of fsync share: work under strace. Needs strace (`apt-get install strace`) and the right to use it. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processTree } from '../services/machine.ts';

/** Runs the work with strace on a server, and tells how often its processes brought something to disk. */
export async function countFsyncs(server: number, what: string, work: () => Promise<unknown>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'samekey-strace-'));
  const file = join(folder, 'calls');
  const pids = processTree(server).flatMap((pid) => ['-p', String(pid)]);
  const strace = spawn('strace', ['-f', '-qq', '-e', 'trace=fsync,fdatasync', '-o', file, ...pids], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await once(strace, 'spawn');
  await attached(pids.filter((pid) => pid !== '-p'));
  await work();
  strace.kill('SIGINT');
  await once(strace, 'exit');
  const calls = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => /f(?:data)?sync\(/.test(line));
  rmSync(folder, { recursive: true, force: true });
  console.log(`${what}: ${calls.length} fsync or fdatasync`);
}

/** Until strace holds each of them. */
async function attached(pids: readonly string[]): Promise<void> {
  for (;;) {
    const free = pids.filter((pid) => /^TracerPid:\t0$/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')));
    if (free.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
