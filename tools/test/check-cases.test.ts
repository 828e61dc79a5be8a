import { describe, expect, it } from 'vitest';
import { casesOf, checkCases, citedIn, storesIn } from '../check-cases.mjs';
import { CASES, REVIEWED } from '../lib/cases.mjs';
import { ROOT } from '../lib/report.mjs';
import { lines, tree } from './fixture.ts';

const ALL = `// ${[...Object.keys(CASES), ...Object.keys(REVIEWED)].join(', ')}\n`;
const SRC = 'packages/samekey/src';
const TEST = 'packages/samekey/test';
const PAGE = 'docs/internals/cases.md';

const TABLES =
  '<!-- made by tools/check-cases.mjs --write -->\n<!-- end -->\n<!-- review: made by tools/check-cases.mjs --write -->\n<!-- end -->\n';

/** Written so, because the check reads this file too. */
const UNKNOWN = ['F', '157'].join('');

function row(number: number): string {
  return `| <a id="f${number}"></a>F${number} | it happened | it is right |\n`;
}

function explained(last: number): string {
  return Array.from({ length: last }, (_, at) => row(at + 1)).join('');
}

/** One store with nothing wrong: it has no transactions and no messages. */
const WHOLE = {
  [`${SRC}/stores/shelf/index.ts`]: 'export const transactions = false;',
  ['packages/testing/src/contract/claims.ts']: ALL,
  ['packages/testing/src/adapter/keys.ts']: ALL,
  [`${TEST}/stores/shelf.test.ts`]: 'storeContract(',
  [`${TEST}/engine/shelf.test.ts`]: 'engineContract(',
  [`${TEST}/services/simulator-lanes.ts`]: 'export async function shelfLane(): Promise<Lane>',
  [`${TEST}/processes/backends/shelf.ts`]: '',
  [PAGE]: explained(156) + TABLES,
};

function without(name: string): string {
  return ALL.replace(` ${name},`, '');
}

function found(changes: Record<string, string>): string[] {
  const files = Object.entries({ ...WHOLE, ...changes }).filter(([, text]) => text !== 'gone');
  const root = tree(Object.fromEntries(files));
  return [...lines(checkCases(root, { write: true })), ...lines(checkCases(root))];
}

describe('check-cases', () => {
  it('counts what comments beside tests cite, and nothing that a head or a title says', () => {
    expect([...citedIn(`/** F1 */\n * F2\nit('F3', F4);\n  // F5, F6: why\n  x(); // F7`)]).toEqual([
      'F5',
      'F6',
    ]);
  });

  it('holds for a store with every suite and every case', () => {
    expect(found({})).toEqual([]);
  });

  it.each([
    [`${TEST}/stores/shelf.test.ts`, 'has no contract tests'],
    [`${TEST}/engine/shelf.test.ts`, 'has no engine tests'],
    [`${TEST}/services/simulator-lanes.ts`, 'has no simulator tests'],
    [`${TEST}/processes/backends/shelf.ts`, 'has no processes tests'],
  ])('a store without %s fails', (file, message) => {
    expect(found({ [file]: 'gone' })).toContainEqual(expect.stringContaining(message));
  });

  it('a store that no two processes share needs no tests of processes', () => {
    const alone = { [`${SRC}/stores/shelf/index.ts`]: 'export const capabilities = { shared: false };' };
    expect(found({ ...alone, [`${TEST}/processes/backends/shelf.ts`]: 'gone' })).toEqual([]);
  });

  it('a case that no suite of a store cites fails, and so does a store without a file of its own', () => {
    expect(found({ ['packages/testing/src/contract/claims.ts']: ALL.replace('F15,', '') })).toContainEqual(
      expect.stringContaining('shelf  has no test of F15'),
    );
    expect(found({ [`${SRC}/stores/drawer/index.ts`]: '' })).toContainEqual(
      expect.stringContaining('drawer  has no test of F1 '),
    );
  });

  it('what a store does not offer is shown by its refusal; what it offers needs a test', () => {
    const contract = { ['packages/testing/src/contract/claims.ts']: ALL.replace(' F14,', '') };
    const refusal = { ...contract, ['packages/testing/src/contract/offers.ts']: '// F14' };
    expect(found(contract)).toContainEqual(expect.stringContaining('has no test of F14'));
    expect(found(refusal)).toEqual([]);
    const offering = { [`${SRC}/stores/shelf/index.ts`]: 'capabilities: { transactions: true }' };
    expect(found({ ...refusal, ...offering })).toContainEqual(expect.stringContaining('has no test of F14'));
  });

  it('a case of the reviews that no test cites fails, and one that no door cites needs words', () => {
    const contract = 'packages/testing/src/contract/claims.ts';
    const door = 'packages/testing/src/adapter/keys.ts';
    expect(found({ [contract]: without('F93'), [door]: without('F93') })).toContainEqual(
      expect.stringContaining('no test cites F93'),
    );
    expect(found({ [door]: without('F81') })).toContainEqual(
      expect.stringContaining('F81 (small streamed answers) has no test of doors, and nothing says why'),
    );
    expect(found({ [contract]: without('F93') })).toEqual([]);
  });

  it('a number that a file cites and the page does not explain fails', () => {
    const message = `docs/a.md  cites ${UNKNOWN}, which ${PAGE} does not explain`;
    expect(found({ 'docs/a.md': `A retry (${UNKNOWN}).` })).toContainEqual(expect.stringContaining(message));
    expect(found({ 'docs/a.md': `A retry (${UNKNOWN}).`, [PAGE]: explained(157) + TABLES })).toEqual([]);
  });

  it.each([
    ['a gap', explained(155) + row(157), `${UNKNOWN} stands where F156 should`],
    ['a row without words', explained(155) + row(156).replace('it is right', ''), 'F156 is not explained'],
    ['a wrong anchor', explained(155) + row(156).replace('"f156"', '"f1"'), 'F156 has the anchor f1'],
  ])('a list of cases with %s fails', (_, rows, message) => {
    expect(found({ [PAGE]: rows + TABLES })).toContainEqual(expect.stringContaining(message));
  });

  it('a table that does not say what the tests say fails', () => {
    const root = tree(WHOLE);
    expect(lines(checkCases(root))).toEqual([expect.stringContaining('does not say what the tests say')]);
    expect(lines(checkCases(tree({ ...WHOLE, [PAGE]: explained(156) })))).toEqual([
      expect.stringContaining('has no place for the table'),
    ]);
  });

  it('finds this project in order, with every store', () => {
    expect(storesIn(ROOT).slice(0, 3)).toEqual(['memory', 'sqlite', 'postgres']);
    expect(casesOf(ROOT).table).toContain('| F15 |');
    expect(lines(checkCases(ROOT))).toEqual([]);
  });
});
