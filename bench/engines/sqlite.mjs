/** A file; the engine runs in the caller's process, so its CPU is the caller's. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** @type {import('../contract.d.ts').StartEngine} */
export async function start() {
  const folder = mkdtempSync(join(tmpdir(), 'samekey-bench-'));
  return {
    url: join(folder, 'bench.db'),
    describe: 'SQLite by libsql: journal_mode=WAL synchronous=FULL',
    cpuUs: () => 0,
    stop: async () => rmSync(folder, { recursive: true }),
    clients: ['libsql'],
  };
}
