import { describe, expect, it } from 'vitest';
import { checkTidy, type Exception } from '../check-tidy.mjs';
import { walkFiles } from '../lib/files.mjs';
import { moduleOf } from '../lib/modules.mjs';
import { lines, packageTree } from './fixture.ts';

const SRC = 'packages/samekey/src';

/** What the check says of these files below src. */
function found(files: Record<string, string>, exceptions: Exception[] = [], entries?: object[]): string[] {
  const tree = Object.fromEntries(Object.entries(files).map(([file, text]) => [`${SRC}/${file}`, text]));
  const root = packageTree(tree, entries);
  return lines(checkTidy(root, walkFiles(root), undefined, exceptions));
}

/** A function with so many lines. */
function long(count: number): string {
  return `function walk() {\n${'  walk();\n'.repeat(count - 2)}}\nwalk();\n`;
}

/** A function to stand in another. */
const inner = (name: string, count: number): string =>
  `  function ${name}() {\n${'    run();\n'.repeat(count - 2)}  }\n`;

/** One that holds what is given. */
const make = (text: string): string => `function make() {\n${text}}\nmake();\n`;

const EXCEPTION: Exception = {
  path: `${SRC}/a.ts`,
  measure: 'function',
  name: 'walk',
  linesMax: 80,
  reason: 'One table.',
};

describe('check-tidy', () => {
  it('a function may have 70 lines, and no more', () => {
    expect(found({ 'a.ts': long(70) })).toEqual([]);
    expect(found({ 'a.ts': long(71) })).toEqual([
      `${SRC}/a.ts:1  walk has 71 lines, at most 70 are wanted: split it along its subjects`,
    ]);
  });

  it('a function that holds others has their lines only as one that holds others, up to 150', () => {
    expect(found({ 'a.ts': make(inner('one', 60) + inner('two', 60)) })).toEqual([]);
    expect(found({ 'a.ts': make(inner('one', 70) + inner('two', 70) + inner('three', 20)) })).toEqual([
      expect.stringContaining('make has 162 lines, at most 150 are wanted'),
    ]);
    // A callback without a name is a part of the sentence around it.
    expect(found({ 'a.ts': make(`  run(() => {\n${'    run();\n'.repeat(80)}  });\n`) })).toEqual([
      expect.stringContaining('make has 84 lines'),
      expect.stringContaining('a.ts:2  run has 82 lines'),
    ]);
  });

  it('a file may have 400 lines', () => {
    expect(found({ 'a.ts': 'void 0;\n'.repeat(400) })).toEqual([]);
    expect(found({ 'a.ts': 'void 0;\n'.repeat(401) })).toEqual([
      expect.stringContaining('the file has 401 lines, at most 400'),
    ]);
  });

  it('what registers the tests of a contract is as long as its table', () => {
    const text = `function tests(test) {\n${"  test('one', () => {});\n".repeat(200)}}\ntests();\n`;
    expect(found({ 'testing/a.ts': text })).toEqual([]);
    expect(found({ 'a.ts': text })).toEqual([
      expect.stringContaining('tests has 202 lines, at most 70'),
      expect.stringContaining('tests has 202 lines, at most 150'),
    ]);
  });

  it('an exception holds up to its number, needs a reason, and goes when it is not needed', () => {
    expect(found({ 'a.ts': long(80) }, [EXCEPTION])).toEqual([]);
    expect(found({ 'a.ts': long(81) }, [EXCEPTION])).toEqual([
      expect.stringContaining('walk has 81 lines, at most 80 are wanted'),
    ]);
    expect(found({ 'a.ts': long(80) }, [{ ...EXCEPTION, reason: ' ' }])).toEqual([
      `tools/tidy-exceptions.json  ${SRC}/a.ts: an exception needs a reason`,
    ]);
    expect(found({ 'a.ts': long(70) }, [EXCEPTION])).toEqual([
      `tools/tidy-exceptions.json  ${SRC}/a.ts: the function walk needs no exception any more: take it out`,
    ]);
  });

  it('a comment may be 120 columns wide, unless it is one word', () => {
    expect(found({ 'a.ts': `// ${'x '.repeat(58)}\n` })).toEqual([]);
    expect(found({ 'a.ts': `/**\n * ${'x '.repeat(59)}\n */\n` })).toEqual([
      `${SRC}/a.ts:2  a comment is wider than 120 columns: wrap it`,
    ]);
    expect(found({ 'a.ts': `// https://${'x'.repeat(120)}\n` })).toEqual([]);
  });

  it('an export that no other file uses is dead; those of an entry are alive', () => {
    const entries = [{ name: 'samekey', source: 'src/index.ts', peers: {}, docs: 'x.md' }];
    const files = {
      'index.ts': `export { used } from './a.ts';\nexport const own = 1;\n`,
      'a.ts': `export const used = 1;\nexport const dead = 2;\nexport type Gone = 3;\n`,
    };
    expect(found(files, [], entries)).toEqual([
      `${SRC}/a.ts:2  dead is used by no other file: do not export it, or delete it`,
      `${SRC}/a.ts:3  Gone is used by no other file: do not export it, or delete it`,
    ]);
  });

  it.each([
    ['an import', `import { a } from './a.ts';`],
    ['a type', `import { type a } from './a.ts';`],
    ['a namespace', `import * as all from './a.ts';`],
    ['a re-export', `export { a as b } from './a.ts';`],
    ['a dynamic import', `const { a } = await import('./a.ts');`],
    ['a door of the repository', `import { a } from 'samekey/internals/a';`],
    ['an import() type', `type A = import('./a.ts').a;`],
    ['a comment of JavaScript', `/** @type {import('./a.ts').a} */`],
  ])('%s is a use', (_, text) => {
    const names = moduleOf(`${SRC}/b.ts`, text).uses.filter(({ target }) => target === `${SRC}/a.ts`);
    expect(names.some(({ name }) => name === 'a' || name === '*')).toBe(true);
  });

  it('imports must lead in no circle, types included', () => {
    expect(
      found({
        'a.ts': `import type { b } from './b.ts';\nexport type a = b;\n`,
        'b.ts': `import type { a } from './a.ts';\nexport type b = a;\n`,
      }),
    ).toEqual([`${SRC}/a.ts  imports lead in a circle: ${SRC}/a.ts, ${SRC}/b.ts`]);
  });

  it('a store, an adapter or a transaction source without an entry cannot be used', () => {
    const entries = [{ name: 's', source: 'src/stores/one/index.ts', peers: {}, docs: 'x.md' }];
    expect(
      found({ 'stores/one/index.ts': '', 'stores/two/index.ts': '', 'tx/pool.ts': '' }, [], entries),
    ).toEqual([
      `${SRC}/stores/two  has no entry: give it one in entries.json, or move it to where it is used`,
    ]);
  });

  it('a name says one thing once; the roles of a store stand in each of them', () => {
    expect(found({ 'stores/x/audit.ts': '', 'stores/y/audit.ts': '', 'store/audit.ts': '' })).toEqual([
      expect.stringContaining('stores/x  has no entry'),
      expect.stringContaining('stores/y  has no entry'),
    ]);
    expect(found({ 'one/send.ts': '', 'two/send.ts': '', 'two/index.ts': '', 'index.ts': '' })).toEqual([
      `${SRC}/one/send.ts  has the name of ${SRC}/two/send.ts: say of each what it is`,
    ]);
  });
});
