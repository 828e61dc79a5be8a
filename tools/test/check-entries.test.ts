import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkEntries, manifestParts, writeEntries } from '../check-entries.mjs';
import { lines, packageTree } from './fixture.ts';

const ENTRIES = [
  { name: 'samekey', source: 'src/index.ts', peers: {}, docs: 'docs/reference/samekey.md' },
  {
    name: 'samekey/koa',
    source: 'src/adapters/koa/index.ts',
    peers: { koa: '>=3' },
    docs: 'docs/guides/koa.md',
  },
];
const FILES = {
  'packages/samekey/src/index.ts': '',
  'packages/samekey/src/adapters/koa/index.ts': '',
  'docs/reference/samekey.md': '# Samekey',
  'docs/guides/koa.md': '# Koa',
  'docs/reference/entries.md': '- [`samekey`](samekey.md)\n- [`samekey/koa`](../guides/koa.md)\n',
};
const MANIFEST = manifestParts(ENTRIES, 'samekey');

describe('check-entries', () => {
  it('holds when manifest, sources and documentation say what the list says', () => {
    expect(lines(checkEntries(packageTree(FILES, ENTRIES, MANIFEST)))).toEqual([]);
  });

  it('the conditions of an entry stand in the order: our sources, types, default', () => {
    expect(JSON.stringify(MANIFEST.exports['./koa'])).toBe(
      '{"@samekey/source":"./src/adapters/koa/index.ts","types":"./dist/adapters/koa/index.d.ts","default":"./dist/adapters/koa/index.js"}',
    );
  });

  it.each([
    [
      'an export that is not listed',
      { exports: { ...MANIFEST.exports, './extra': './dist/extra.js' } },
      'exports',
    ],
    ['a missing export', { exports: { '.': MANIFEST.exports['.'] } }, 'exports'],
    [
      'conditions in another order',
      {
        exports: {
          ...MANIFEST.exports,
          '.': Object.fromEntries(Object.entries(MANIFEST.exports['.'] ?? {}).toReversed()),
        },
      },
      'exports',
    ],
    ['another range of a peer', { peerDependencies: { koa: '>=2' } }, 'peerDependencies'],
    ['a peer that is not optional', { peerDependenciesMeta: {} }, 'peerDependenciesMeta'],
  ])('%s fails', (_, change, part) => {
    const found = lines(checkEntries(packageTree(FILES, ENTRIES, { ...MANIFEST, ...change })));
    expect(found).toEqual([expect.stringContaining(`"${part}" differs from packages/samekey/entries.json`)]);
  });

  it.each([
    ['a missing index', { 'docs/reference/entries.md': undefined }, 'does not exist'],
    [
      'an entry missing in it',
      { 'docs/reference/entries.md': '[`samekey`](samekey.md)' },
      'samekey/koa is missing',
    ],
    [
      'an entry that is not listed',
      { 'docs/reference/entries.md': `${FILES['docs/reference/entries.md']}- [\`samekey/x\`](x.md)` },
      'samekey/x is not an entry',
    ],
    [
      'another page',
      { 'docs/reference/entries.md': '- [`samekey`](samekey.md)\n- [`samekey/koa`](samekey.md)\n' },
      'samekey/koa leads to docs/reference/samekey.md',
    ],
    [
      'another order',
      { 'docs/reference/entries.md': '- [`samekey/koa`](../guides/koa.md)\n- [`samekey`](samekey.md)\n' },
      'the order differs',
    ],
    [
      'a page that does not exist',
      { 'docs/guides/koa.md': undefined },
      'its page docs/guides/koa.md does not exist',
    ],
    [
      'a source that does not exist',
      { 'packages/samekey/src/adapters/koa/index.ts': undefined },
      'src/adapters/koa/index.ts does not exist',
    ],
  ])('%s fails', (_, change: Record<string, string | undefined>, message) => {
    const files = Object.fromEntries(
      Object.entries({ ...FILES, ...change }).flatMap(([file, text]) =>
        text === undefined ? [] : [[file, text]],
      ),
    );
    expect(lines(checkEntries(packageTree(files, ENTRIES, MANIFEST)))).toEqual([
      expect.stringContaining(message),
    ]);
  });

  it('--write makes export map and peers from the list and leaves the rest as it was', () => {
    const root = packageTree(FILES, ENTRIES, {
      description: 'kept',
      exports: { '.': './old.js' },
      dependencies: { a: '1.0.0' },
      peerDependencies: { old: '1' },
    });
    writeEntries(root);
    expect(lines(checkEntries(root))).toEqual([]);
    const manifest = JSON.parse(readFileSync(join(root, 'packages/samekey/package.json'), 'utf8')) as object;
    expect(manifest).toMatchObject({ description: 'kept', dependencies: { a: '1.0.0' } });
    expect(Object.keys(manifest)).toEqual([
      'name',
      'version',
      'type',
      'description',
      'exports',
      'dependencies',
      'peerDependencies',
      'peerDependenciesMeta',
    ]);
  });
});
