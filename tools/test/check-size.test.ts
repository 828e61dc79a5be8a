import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkSize, checkWeight, closureWeight, LIMITS, sizeOf } from '../check-size.mjs';
import { ROOT } from '../lib/report.mjs';
import { lines } from './fixture.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'samekey-size-'));
});
afterEach(() => rmSync(root, { recursive: true }));

describe('check-size', () => {
  it('an entry that imports more than its limit fails, and one below it holds', async () => {
    // Of random letters, so that nothing of it can be compressed away.
    const letters = Array.from({ length: 3_000 }, () => Math.random().toString(36).slice(2)).join('');
    writeFileSync(join(root, 'heavy.ts'), `export const heavy: string = '${letters}';\n`);
    writeFileSync(join(root, 'entry.ts'), `export { heavy } from './heavy.ts';\n`);
    writeFileSync(join(root, 'light.ts'), 'export const light: number = 1;\n');
    const limits = ['entry.ts', 'light.ts'].map((file) => ({ file, maxBytes: 6144 }));
    expect(lines(await checkSize(root, limits))).toEqual([
      expect.stringMatching(/^entry\.ts {2}has \d{5} bytes compressed, at most 6144/),
    ]);
  });

  it('what nobody imports does not count', async () => {
    writeFileSync(join(root, 'two.ts'), 'export const used = 1;\nexport const unused = "never";\n');
    writeFileSync(join(root, 'entry.ts'), `export { used } from './two.ts';\n`);
    expect(await sizeOf(join(root, 'entry.ts'))).toBeLessThan(100);
  });

  it('the client is held to 8,544 bytes', async () => {
    expect(LIMITS).toContainEqual({ file: 'packages/client/src/index.ts', maxBytes: 8544 });
    expect(await checkSize(ROOT)).toEqual([]);
  });

  it('what an entry loads is what its imports reach, without those that are made when they are needed', () => {
    writeFileSync(
      join(root, 'entry.js'),
      `import './one.js';\nexport const later = () => import('./two.js');\n`,
    );
    writeFileSync(join(root, 'one.js'), `export * from './three.js';\nimport 'node:fs';\n`);
    writeFileSync(join(root, 'two.js'), '');
    writeFileSync(join(root, 'three.js'), 'export const x = 1;\n');
    expect(closureWeight(root, 'entry.js')).toEqual({ files: 3, kilobytes: 1 });
  });

  it('every package is within its weight', () => {
    const told: string[] = [];
    expect(checkWeight(ROOT, (line) => told.push(line))).toEqual([]);
    expect(told.join()).toContain('samekey/express');
  });
});
