import { describe, expect, it } from 'vitest';
import { checkOptions } from '../check-options.mjs';
import { lines, tree } from './fixture.ts';

const SRC = 'packages/samekey/src';
const NAMES = ['SamekeyOptions<Tx>', 'RouteOptions<Native> extends OperationOptions', 'KeyOptions'];
const FILES = {
  [`${SRC}/core/settings.ts`]:
    'export interface OperationOptions { readonly aMs?: number; readonly bMax?: number; }',
  [`${SRC}/else/where.ts`]: [...NAMES, 'FingerprintOptions']
    .map((name) => `export interface ${name} { readonly only: string; }`)
    .join('\n'),
};
const ONLY = '| option | default |\n| --- | --- |\n| `only` | `x` |\n';
const REST = `## Of an instance\n${ONLY}## Of a protected route\n${ONLY}### key\n${ONLY}### fingerprint\n${ONLY}`;

function found(rows: string): string[] {
  const table = `# Options\n## Of an operation\n| option | default |\n| --- | --- |\n${rows}\n`;
  return lines(checkOptions(tree({ ...FILES, 'docs/reference/options.md': table + REST })));
}

describe('check-options', () => {
  it('holds when each member has a row, two in one cell too, and other tables name what they like', () => {
    expect(
      found('| `aMs`, `bMax` | 1 |\n\nSee:\n\n| given to | checks |\n| --- | --- |\n| `run` | x |\n'),
    ).toEqual([]);
  });

  it('finds a member without a row', () => {
    expect(found('| `aMs` | 1 |')).toEqual([
      'docs/reference/options.md  bMax of OperationOptions has no row under "## Of an operation"',
    ]);
  });

  it('finds a row without a member', () => {
    expect(found('| `aMs` | 1 |\n| `bMax` | `c` |\n| `gone` | 2 |')).toEqual([
      'docs/reference/options.md:7  OperationOptions has no gone',
    ]);
  });

  it('fails when an interface is gone, and without the page', () => {
    expect(lines(checkOptions(tree({ 'docs/reference/options.md': '' })))).toHaveLength(5);
    expect(lines(checkOptions(tree({})))).toEqual(['docs/reference/options.md  does not exist']);
  });
});
