import { describe, expect, it } from 'vitest';
import { manifestParts } from '../check-entries.mjs';
import { checkContents, checkDeclarations, checkPackage } from '../check-types.mjs';
import { lines, packageTree } from './fixture.ts';

const DIST = 'packages/samekey/dist';
const entry = (web: boolean) => [
  { name: 'samekey', source: 'src/index.ts', peers: { koa: '>=3' }, docs: 'x.md', ...(web ? { web } : {}) },
];

function declarations(files: Record<string, string>, web = true): string[] {
  const built = Object.entries(files).map(([file, text]) => [`${DIST}/${file}`, text]);
  return lines(
    checkDeclarations(packageTree(Object.fromEntries(built) as Record<string, string>, entry(web))),
  );
}

describe('check-types', () => {
  it('declarations may name declared peers, and each other', () => {
    expect(
      declarations({
        'index.d.ts': `import type { Context } from 'koa';\nexport * from './core/a.js';\nexport type C = Context;`,
        'core/a.d.ts': 'export type A = unknown;',
      }),
    ).toEqual([]);
  });

  it.each([
    [
      `export type C = import('express').Request;`,
      'its declarations name express, which is not a declared peer',
    ],
    [`export declare function f(x: any): void;`, 'a declaration says any'],
    [`export declare function f(): Promise<Array<any>>;`, 'a declaration says any'],
    [`import type { Server } from 'node:http';\nexport type S = Server;`, 'name node:http'],
    [`/// <reference types="node" />`, 'name node'],
    ['export declare const b: Buffer;', 'name Buffer'],
    ['export declare const t: NodeJS.Timeout;', 'name NodeJS'],
  ])('a module deep in the closure with %s fails', (text, message) => {
    const files = { 'index.d.ts': `export * from './core/a.js';`, 'core/a.d.ts': text };
    expect(declarations(files)).toEqual([expect.stringContaining(message)]);
  });

  it('Node types are for entries that need Node; core does without them whoever reaches it', () => {
    const text = `import type { Server } from 'node:http';\nexport type S = Server | Buffer;`;
    expect(declarations({ 'index.d.ts': text }, false)).toEqual([]);
    expect(
      declarations({ 'index.d.ts': `export * from './core/a.js';`, 'core/a.d.ts': text }, false),
    ).toHaveLength(2);
  });

  it('an entry that was not built fails', () => {
    expect(declarations({})).toEqual([expect.stringContaining('samekey: the declaration was not built')]);
  });

  it('nothing stale and nothing of the build is packed, and the licence is', () => {
    const root = packageTree({ 'packages/samekey/src/a.ts': '' });
    const files = ['package.json', 'README.md', 'LICENSE', 'dist/a.js', 'dist/a.d.ts'];
    expect(lines(checkContents(root, files))).toEqual([]);
    expect(
      lines(checkContents(root, [...files.slice(0, 2), 'dist/b.js', 'dist/a.js.map', 'src/a.ts'])),
    ).toEqual([
      expect.stringContaining('dist/b.js  is packed, but its source is gone'),
      expect.stringContaining('dist/a.js.map  must not be packed'),
      expect.stringContaining('src/a.ts  must not be packed'),
      expect.stringContaining('packages/samekey/LICENSE  is not in the packed package'),
    ]);
  });

  it('a package whose entry neither loads nor compiles fails, and a sound one holds', {
    timeout: 240_000,
  }, async () => {
    const sound = {
      'packages/samekey/README.md': '# x',
      'packages/samekey/LICENSE': 'MIT',
      'packages/samekey/src/index.ts': 'export const one: number = 1;\n',
      'packages/samekey/dist/index.js': 'export const one = 1;\n',
      'packages/samekey/dist/index.d.ts': 'export declare const one: number;\n',
    };
    const entries = [{ name: 'samekey', source: 'src/index.ts', peers: {}, docs: 'x.md', web: true }];
    // Of the real package, also what has moved; here only the entry.
    const { exports: all } = manifestParts(entries, 'samekey');
    const exports = { '.': all['.'] };
    const manifest = {
      license: 'MIT',
      exports,
      engines: { node: '>=20' },
      files: ['dist', 'src'],
      sideEffects: false,
    };
    expect(lines(await checkPackage(packageTree(sound, entries, manifest)))).toEqual([]);

    const broken = {
      ...sound,
      'packages/samekey/dist/index.js': `export { one } from './gone.js';\n`,
      'packages/samekey/dist/index.d.ts': `export { one } from './gone.js';\n`,
    };
    const found = lines(await checkPackage(packageTree(broken, entries, manifest)));
    expect(found).toContainEqual(expect.stringMatching(/samekey does not load from the tarball: .*gone\.js/));
    expect(found).toContainEqual(expect.stringMatching(/does not compile from the tarball: .*gone/));

    const wrongMap = {
      ...manifest,
      exports: { '.': { types: './dist/none.d.ts', default: './dist/index.js' } },
    };
    expect(lines(await checkPackage(packageTree(sound, entries, wrongMap)))).toContainEqual(
      expect.stringContaining('publint: '),
    );
  });
});
