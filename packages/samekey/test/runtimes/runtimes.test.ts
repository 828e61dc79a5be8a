/**
 * The contract of the Fetch door on the servers of Bun and Deno, whole, in a process of each: `run-contract.ts` in one file, since
 * neither reads the workspace's conditions.
 */

import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lack } from '../services/lacking.ts';
import type { Report } from './run-contract.ts';

const OPTIONAL = fileURLToPath(new URL('../../../../tools/optional/node_modules/', import.meta.url));
const ENTRY = fileURLToPath(new URL('run-contract.ts', import.meta.url));
const TIME_MAX_MS = 240_000;

/** Why two tests fail on Bun. */
const BUN_TYPE =
  'its server adds a Content-Type to a streamed answer that has none, and none to the bytes of its replay';

interface Runtime {
  readonly file: string;
  readonly args: readonly string[];
  /** Tests that do not hold there, by the end of their title, and why that is not Samekey's to mend. */
  readonly known: Readonly<Record<string, string>>;
}

const RUNTIMES: Readonly<Record<string, Runtime>> = {
  node: { file: process.execPath, args: [], known: {} },
  bun: {
    file: join(OPTIONAL, 'bun/bin/bun.exe'),
    args: ['run'],
    known: {
      'a small answer whose end comes 1.5 s after its head is kept and replayed to the byte': BUN_TYPE,
      'a slow answer streams through, but its end waits for the record': BUN_TYPE,
    },
  },
  deno: {
    file: join(OPTIONAL, 'deno/deno'),
    args: ['run', '--allow-net', '--no-prompt', '--no-lock', '--no-config'],
    known: {
      'a small answer whose end comes 1.5 s after its head is kept and replayed to the byte':
        'its server sends from another thread: the virtual time of the test is over before the first bytes come',
    },
  },
};

const folder = mkdtempSync(join(tmpdir(), 'samekey-runtimes-'));
const bundle = join(folder, 'contract.mjs');

function run({ file, args }: Runtime): Promise<string> {
  return new Promise((resolve) => {
    const options = { timeout: TIME_MAX_MS, maxBuffer: 64 * 1_048_576 };
    execFile(file, [...args, bundle], options, (_error, out, log) => {
      resolve(out.trimEnd().split('\n').at(-1) ?? log);
    });
  });
}

describe('the adapter contract of the Fetch door', () => {
  beforeAll(async () => {
    const conditionNames = ['@samekey/source', 'import', 'default'];
    const made = await rolldown({
      input: ENTRY,
      platform: 'node',
      logLevel: 'silent',
      resolve: { conditionNames },
    });
    await made.write({ file: bundle, format: 'esm' });
    await made.close();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  for (const [name, runtime] of Object.entries(RUNTIMES)) {
    const isHere =
      existsSync(runtime.file) ||
      lack(`the Fetch door on ${name}, which is not installed`, 'Run: npm ci --prefix tools/optional');
    it.skipIf(isHere === undefined)(
      `holds on the server of ${name}`,
      async () => {
        const report = JSON.parse(await run(runtime)) as Report;
        expect(report.runtime).toBe(name);
        const failed = report.failed.filter(
          ({ title }) => !Object.keys(runtime.known).some((end) => title.endsWith(end)),
        );
        expect(failed).toEqual([]);
        expect(report.passed).toBeGreaterThan(390);
      },
      TIME_MAX_MS,
    );
  }
});
