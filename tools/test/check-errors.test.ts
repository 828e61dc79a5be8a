import { describe, expect, it } from 'vitest';
import { checkErrors } from '../check-errors.mjs';
import { lines, tree } from './fixture.ts';

const SRC = 'packages/samekey/src';
const CODES = `export type ErrorCode = 'ERR_SAMEKEY_A' | 'ERR_SAMEKEY_B';`;

function found(files: Record<string, string>): string[] {
  return lines(
    checkErrors(
      tree({
        [`${SRC}/core/errors.ts`]: CODES,
        'docs/reference/errors.md': '# Errors\n### ERR_SAMEKEY_A\n### `ERR_SAMEKEY_B`\n### See also this\n',
        ...files,
      }),
    ),
  );
}

describe('check-errors', () => {
  it('holds when the codes and the headings are the same, and asks nothing of sources that do not exist yet', () => {
    expect(found({})).toEqual([]);
  });

  it.each([
    ['### ERR_SAMEKEY_A', 'ERR_SAMEKEY_B of packages/samekey/src/core/errors.ts has no heading'],
    ['### ERR_SAMEKEY_A\n### ERR_SAMEKEY_B\n### ERR_SAMEKEY_C', ':3  ERR_SAMEKEY_C is not in'],
    ['### ERR_SAMEKEY_A\n### ERR_SAMEKEY_B\n### ERR_SAMEKEY_B', ':3  ERR_SAMEKEY_B has two headings'],
    ['### ERR_SAMEKEY_B\n### ERR_SAMEKEY_A', ':1  ERR_SAMEKEY_B is out of order'],
    ['## ERR_SAMEKEY_A\n### ERR_SAMEKEY_B', 'ERR_SAMEKEY_A of'],
  ])('a page with %j fails', (page, message) => {
    expect(found({ 'docs/reference/errors.md': page })).toEqual([expect.stringContaining(message)]);
  });

  it('codes without a page fail', () => {
    expect(lines(checkErrors(tree({ [`${SRC}/core/errors.ts`]: CODES })))).toEqual([
      expect.stringContaining('docs/reference/errors.md  does not exist'),
    ]);
  });

  it.each([
    `export const PROBLEMS = { 'key-missing': { status: 400 } } as const;`,
    `export const PROBLEMS = Object.freeze({ 'key-missing': { status: 400 } } satisfies X);`,
  ])('problem codes are held equal to the page too: %s', (source) => {
    const problem = { 'packages/samekey/src/http/problem.ts': source };
    const page = '### ERR_SAMEKEY_A\n### ERR_SAMEKEY_B\n';
    expect(found({ ...problem, 'docs/reference/errors.md': `${page}### key-missing` })).toEqual([]);
    expect(found(problem)).toEqual([expect.stringContaining('key-missing of')]);
    expect(found({ ...problem, 'docs/reference/errors.md': `${page}### key-missing\n### key-odd` })).toEqual([
      'docs/reference/errors.md:4  key-odd is not in packages/samekey/src/http/problem.ts',
    ]);
  });

  it.each([
    ['core/outcome.ts', 'OUTCOME_KINDS', 'docs/reference/outcomes.md'],
    ['engine/events.ts', 'EVENT_TYPES', 'docs/reference/events.md'],
  ])('%s and its page have the same words in the same order', (file, name, docs) => {
    const source = { [`${SRC}/${file}`]: `export const ${name} = ['first', 'second.one'] as const;` };
    expect(found({ ...source, [docs]: '# Page\n## first\n## second.one\n## See also\n' })).toEqual([]);
    expect(found(source)).toEqual([expect.stringContaining(`${docs}  does not exist`)]);
    expect(found({ ...source, [docs]: '## second.one\n## first' })).toEqual([
      expect.stringContaining('second.one is out of order'),
    ]);
    expect(found({ ...source, [docs]: '## first' })).toEqual([expect.stringContaining('second.one of')]);
    expect(found({ ...source, [docs]: '## first\n## second.one\n## third' })).toEqual([
      expect.stringContaining(':3  third is not in'),
    ]);
    expect(found({ [`${SRC}/${file}`]: '' })).toEqual([expect.stringContaining(`no const array ${name}`)]);
  });
});
