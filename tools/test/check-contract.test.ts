import { describe, expect, it } from 'vitest';
import { checkContract, citedSections } from '../check-contract.mjs';
import { ROOT } from '../lib/report.mjs';
import { lines, tree } from './fixture.ts';

const PAGE = 'docs/internals/contract.md';
/** Written so, because the check reads this file too. */
const CITED = ['con', 'tract §'].join('');

const WHOLE = `# The contract

<a id="s1"></a>
## 1. The promise

<a id="s2"></a>
## 2. What a request meets

| # | outcome |
| --- | --- |
| 1 | missing |

<a id="s2-1"></a>
### 2.1. More

| # | outcome |
| --- | --- |
| 7 | replay |
| 7a | not stored |
`;

function found(files: Record<string, string>): string[] {
  return lines(checkContract(tree({ [PAGE]: WHOLE, ...files })));
}

describe('check-contract', () => {
  it.each([
    ['2', ['2']],
    ['2.1, and nothing more', ['2.1']],
    ['1–2', ['1', '2']],
    ['1, §2 and §2.1', ['1', '2', '2.1']],
    ['2, 7a)', ['2', '2 7a']],
    ['2 row 7', ['2', '2 7']],
    ['2, row 7.', ['2', '2 7']],
    ['2, rows 1 and 7, which', ['2', '2 1', '2 7']],
    ['2; RFC 9110 §15', ['2']],
  ])('reads §%s', (text, cited) => {
    const read = citedSections(`// ${CITED}${text}`);
    expect(read.map(({ section, row }) => (row === null ? section : `${section} ${row}`))).toEqual(cited);
  });

  it('holds for sections and rows that are there, in code and in pages, also of a part of the section', () => {
    expect(
      found({ 'src/a.ts': `// ${CITED}2.1, 7a\n`, 'docs/a.md': `See [${CITED}2, row 7](a).\n` }),
    ).toEqual([]);
  });

  it.each([
    ['3', 'src/a.ts:2  docs/internals/contract.md has no §3'],
    ['2.2', 'has no §2.2'],
    ['1–3', 'has no §3'],
    ['2, row 8', 'has no §2, row 8'],
    ['1, 7a', 'has no §1, row 7a'],
  ])('a citation of §%s, which leads nowhere, fails', (text, message) => {
    expect(found({ 'src/a.ts': `\n/** As ${CITED}${text} says. */` })).toEqual([
      expect.stringContaining(message),
    ]);
  });

  it.each(['semantics', 'Semantics', 'architecture'])('a citation of the %s fails', (paper) => {
    const message = `src/a.ts:2  cites "${paper} §", which nothing in the repository numbers`;
    expect(found({ 'src/a.ts': `\n// By ${[paper, '§3'].join(' ')}.` })).toEqual([
      expect.stringContaining(message),
    ]);
  });

  it.each([
    [
      'a heading without its anchor',
      WHOLE.replace('<a id="s2"></a>\n', ''),
      'the line before the heading of §2',
    ],
    [
      'a section that stands there twice',
      `${WHOLE}\n<a id="s1"></a>\n## 1. Again\n`,
      '§1 stands there twice',
    ],
    ['a part of no section', `${WHOLE}\n<a id="s4-1"></a>\n### 4.1. Part\n`, '§4.1 stands outside of §4'],
    ['a row twice in a section', `${WHOLE}| 1 | again |\n`, '§2 has row 1 twice'],
  ])('%s fails', (_, page, message) => {
    expect(found({ [PAGE]: page })).toContainEqual(expect.stringContaining(message));
  });

  it('a repository without the contract fails, and this one holds', () => {
    expect(lines(checkContract(tree({ 'a.md': '' })))).toEqual([`${PAGE}  does not exist`]);
    expect(lines(checkContract(ROOT))).toEqual([]);
  });
});
