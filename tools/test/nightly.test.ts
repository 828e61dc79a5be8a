/** What runs each night is what can be proven: a proof that is in one list only is run by nobody. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../lib/report.mjs';

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

it('every proof runs each night', () => {
  const [, known = ''] = /const PROOFS = \[(.*?)\];/s.exec(read('tools/prove.mjs')) ?? [];
  const [, nightly = ''] =
    /\n {8}proof:\n((?: {10}- .*\n)+)/.exec(read('.github/workflows/proofs.yml')) ?? [];
  const proofs = [...known.matchAll(/'([\w-]+)'/g)].map(([, name]) => name);
  expect(proofs.length).toBeGreaterThan(15);
  expect([...nightly.matchAll(/- ([\w-]+)/g)].map(([, name]) => name)).toEqual(proofs);
});
