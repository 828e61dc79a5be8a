/** vitest's global set-up: what tests were skipped for is told at the end of the run, each once, however many files lacked it. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LACKING_FILE } from './lacking.ts';

export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'samekey-lacking-'));
  const file = join(folder, 'lacking.txt');
  writeFileSync(file, '');
  process.env[LACKING_FILE] = file;
  return () => {
    const lines = new Set(
      readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== ''),
    );
    rmSync(folder, { recursive: true, force: true });
    if (lines.size === 0) return;
    console.warn(`\nNot everything could be tested on this machine:\n${[...lines].toSorted().join('\n')}`);
  };
}
