import { describe, expect, it } from 'vitest';
import { checkThreats, THREATS } from '../check-threats.mjs';
import { ROOT } from '../lib/report.mjs';
import { lines, tree } from './fixture.ts';

const TEST = `
import { it, test } from 'vitest';
it('a plain title', () => {});
test.each([1])('one of several: %s', () => {});
for (const what of ['a', 'b']) test(\`when \${what}, it holds\`, () => {});
const said = 'not a title';
console.log('a call, but no test', said);
`;
const HEAD = '| threat | control | shown by |\n| --- | --- | --- |\n';

function found(rows: string): string[] {
  return lines(
    checkThreats(tree({ 'docs/concepts/threats.md': HEAD + rows, 'test/a.test.ts': TEST }), ['a race']),
  );
}

describe('check-threats', () => {
  it('holds when every threat is shown by tests that exist: plain, of a table, or of a template', () => {
    expect(
      found(
        '| a race | none | [a plain title](../../test/a.test.ts), [one of several: %s](../../test/a.test.ts), [when …, it holds](../../test/a.test.ts) |\n',
      ),
    ).toEqual([]);
  });

  it.each([
    ['[another title](../../test/a.test.ts)', 'test/a.test.ts has no test "another title"'],
    ['[not a title](../../test/a.test.ts)', 'has no test "not a title"'],
    ['[a call, but no test](../../test/a.test.ts)', 'has no test "a call, but no test"'],
    ['[a plain title](../../test/b.test.ts)', 'test/b.test.ts does not exist'],
  ])('a row with %s fails', (shown, message) => {
    expect(found(`| a race | none | ${shown} |\n`)).toEqual([expect.stringContaining(message)]);
  });

  it('a threat without a test, without a row, or with two of them fails', () => {
    const shown = '[a plain title](../../test/a.test.ts)';
    expect(found('| a race | none | none |\n')).toEqual([
      expect.stringContaining('a race is shown by no test'),
    ]);
    expect(found(`| a flood | none | ${shown} |\n`)).toEqual([
      expect.stringContaining('a race has 0 rows instead of one'),
    ]);
    expect(found(`| a race | none | ${shown} |\n`.repeat(2))).toEqual([
      expect.stringContaining('a race has 2 rows instead of one'),
    ]);
  });

  it('finds the page of this project in order, with every threat', () => {
    expect(THREATS.length).toBeGreaterThanOrEqual(15);
    expect(lines(checkThreats(ROOT))).toEqual([]);
  });
});
