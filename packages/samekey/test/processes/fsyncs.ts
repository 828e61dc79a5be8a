/** What the measurements of fsync share: work under strace, and requests. Needs strace (`apt-get install strace`) and the right to use it. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClaimRequest, FinishRequest } from 'samekey';
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

/** A claim of a key. */
export function claimOf(key: string): ClaimRequest {
  return {
    scope: 'fsync',
    key,
    operation: 'measure',
    claimId: `claim-${key}`,
    claimTtlMs: 60_000,
    fingerprint: { label: 'none', digest: 'none' },
    whenClaimEnds: 'unknown',
    retentionMs: 3_600_000,
    replayMinMs: 3_600_000,
    tombstoneMs: 0,
    attemptMax: 10,
    formatVersion: 1,
    entry: 'run',
    input: null,
    pendingTimeMaxMs: 0,
  };
}

/** The end of its attempt. */
export function finishOf(key: string): FinishRequest {
  return {
    scope: 'fsync',
    key,
    claimId: `claim-${key}`,
    attempt: 1,
    to: 'completed',
    proof: null,
    reason: null,
    response: { status: 200, headers: [], body: new TextEncoder().encode(key) },
    unbindFingerprint: false,
    extendMs: 0,
    reconcileAfterMs: 0,
    handedOver: false,
  };
}
