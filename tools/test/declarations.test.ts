import { describe, expect, it } from 'vitest';
import { declarations } from '../lib/declarations.mjs';
import { tree } from './fixture.ts';

const FILES = {
  'packages/samekey/dist/index.d.ts': [
    '/** On the module. */',
    "export { type Made, make } from './make.js';",
    "export * from './all.js';",
    "export { Other } from 'other';",
    'export { limit as most };',
    "import { limit } from './limit.js';",
  ].join('\n'),
  'packages/samekey/dist/make.d.ts': [
    "import type { Part } from './part.js';",
    '/** What is made; see {@link make}. */',
    'export interface Made extends Part<string> {',
    '    /** Its name. */',
    '    readonly name: Name;',
    '}',
    'type Name = `made-${string}`;',
    '/**',
    ' * Makes one.',
    ' *',
    ' * At once.',
    ' */',
    'export declare function make(): Made;',
    'export declare function make(name: string): Made | Error;',
    'export {};',
  ].join('\n'),
  'packages/samekey/dist/part.d.ts': 'export type Part<T> = { readonly of: T };',
  'packages/samekey/dist/all.d.ts': [
    'export declare const one: 1;',
    "export type { Deep } from 'samekey/internals/deep';",
  ].join('\n'),
  'packages/samekey/dist/deep.d.ts': 'export declare class Deep {}',
  'packages/samekey/dist/limit.d.ts': '/** At most. */\nexport declare const limit: 3;',
};

const read = () => declarations(tree(FILES));

describe('declarations', () => {
  const index = 'packages/samekey/dist/index.d.ts';
  it('lists what an entry gives out, however it is given on', () => {
    const { find, namesOf } = read();
    expect(namesOf(index).toSorted()).toEqual(['Deep', 'Made', 'Other', 'make', 'most', 'one']);
    expect(find(index, 'Deep')).toMatchObject({ file: 'packages/samekey/dist/deep.d.ts', kind: 'class' });
    expect(find(index, 'most')).toMatchObject({ name: 'limit', doc: 'At most.', code: 'const limit: 3;' });
    // Declared by a package of others.
    expect(find(index, 'Other')).toBeUndefined();
  });

  it('tells what is said of a name: of itself, not of its neighbour or of the module', () => {
    const { find } = read();
    expect(find(index, 'make')).toMatchObject({
      kind: 'function',
      doc: 'Makes one.\n\nAt once.',
      code: 'function make(): Made;\nfunction make(name: string): Made | Error;',
    });
    expect(find(index, 'Made')?.doc).toBe('What is made; see `make`.');
    expect(find('packages/samekey/dist/make.d.ts', 'Name', true)?.doc).toBe('');
  });

  it('knows what a declaration is made of, also what nobody can import', () => {
    const { find } = read();
    const made = find(index, 'Made');
    expect(made?.uses.toSorted()).toEqual(['Name', 'Part']);
    expect(made?.code).toContain('/** Its name. */');
    expect(find('packages/samekey/dist/make.d.ts', 'Part', true)?.file).toBe(
      'packages/samekey/dist/part.d.ts',
    );
    expect(find('packages/samekey/dist/make.d.ts', 'Part')).toBeUndefined();
  });
});
