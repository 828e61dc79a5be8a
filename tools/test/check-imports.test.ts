import { describe, expect, it } from 'vitest';
import { checkImports, globalsUsed, partOf } from '../check-imports.mjs';
import { lines, packageTree } from './fixture.ts';

const SRC = 'packages/samekey/src';

/** What the check says of one file, in a package where some neighbours exist. */
function found(file: string, text: string, entries?: object[]): string[] {
  return lines(
    checkImports(
      packageTree(
        {
          [`${SRC}/index.ts`]: '',
          [`${SRC}/core/key.ts`]: 'export type Key = string; export const key = 1;',
          [`${SRC}/core/engine.ts`]: '',
          [`${SRC}/http/handle.ts`]: 'export type Handle = string; export const handle = 1;',
          [`${SRC}/http/profiles/ietf.ts`]: '',
          [`${SRC}/http/profiles/stripe.ts`]: '',
          [`${SRC}/stores/memory/index.ts`]: '',
          [`${SRC}/store/store.ts`]: '',
          [`${SRC}/stores/sql/executor.ts`]: 'export type Executor = string; export const executor = 1;',
          [`${SRC}/adapters/fetch/index.ts`]: '',
          [`${SRC}/${file}`]: text,
        },
        entries,
        { dependencies: { 'structured-headers': '2.1.0' } },
      ),
    ),
  );
}

/** The list of a package with one entry. */
function list(name: string, source: string): object[] {
  return [{ name, source, peers: {}, docs: 'x.md' }];
}

describe('check-imports', () => {
  it.each([
    ['an import', `import { handle } from '../http/handle.ts';`],
    ['an import of a type', `import type { Handle } from '../http/handle.ts';`],
    ['a re-export', `export * from '../http/handle.ts';`],
    ['a re-export of a type', `export type { Handle } from '../http/handle.ts';`],
    ['a dynamic import', `export const load = () => import('../http/handle.ts');`],
    ['an import() type', `export type H = import('../http/handle.ts').Handle;`],
    ['an import for its effects', `import '../http/handle.ts';`],
  ])('a core that reaches http by %s fails with file, line and rule', (_, text) => {
    expect(found('core/bad.ts', `\n${text}\n`)).toEqual([
      `${SRC}/core/bad.ts:2  core must not import http (it stands alone)`,
    ]);
  });

  it.each([
    ['core/bad.ts', `import { readFile } from 'node:fs';`, 'core must not import node:fs'],
    ['core/bad.ts', `import pg from 'pg';`, 'core must not import the package pg'],
    ['http/bad.ts', `import type { Server } from 'node:http';`, 'http must not import node:http'],
    ['stores/sqlite/bad.ts', `import '../memory/index.ts';`, 'stores/sqlite must not import stores/memory'],
    ['stores/sqlite/bad.ts', `import type D from 'libsql';`, 'must not import the package libsql'],
    ['stores/sqlite/bad.ts', `import { statfs } from 'node:fs';`, 'node:fs by a dynamic import only'],
    ['adapters/koa/bad.ts', `import '../fetch/index.ts';`, 'adapters/koa must not import adapters/fetch'],
    ['adapters/koa/bad.ts', `import '../../stores/memory/index.ts';`, 'must not import stores/memory'],
    ['http/profiles/bad.ts', `import './ietf.ts';`, 'must not import http/profiles/ietf.ts'],
    ['core/bad.ts', `import '../store/store.ts';`, 'core must not import store'],
    [
      'tx/pg/bad.ts',
      `import type { Executor } from '../../stores/sql/executor.ts'; export type E = Executor;`,
      'tx/pg must not import stores/sql',
    ],
    ['index.ts', `export { handle } from './http/handle.ts';`, 'index.ts may import types of http only'],
    ['core/bad.ts', `import 'samekey/express';`, 'the package must not name itself'],
    ['core/bad.ts', `const x = 'a'; void import(x);`, 'must be a literal'],
    ['core/bad.ts', `import './nowhere.ts';`, './nowhere.ts does not exist'],
    ['core/bad.ts', `import './key.js';`, 'must name the file with its ending .ts'],
    ['core/bad.ts', `import '../../../cli/src/main.ts';`, 'leads out of src'],
  ])('%s with %s fails', (file, text, message) => {
    expect(found(file, text)).toEqual([expect.stringContaining(message)]);
  });

  it.each([
    [
      'http/good.ts',
      `import { parseItem } from 'structured-headers'; import '../core/key.ts'; void parseItem;`,
    ],
    ['engine/good.ts', `import '../store/store.ts'; import '../core/key.ts';`],
    ['stores/sqlite/good.ts', `import '../sql/executor.ts'; export const f = () => import('node:fs');`],
    ['tx/pg/good.ts', `import '../../core/key.ts';`],
    ['index.ts', `export type { Handle } from './http/handle.ts';`],
    ['http/profiles/index.ts', `export * from './ietf.ts'; export * from './stripe.ts';`],
    ['adapters/node/good.ts', `import '../../http/handle.ts'; import '../../http/profiles/ietf.ts';`],
  ])('%s with %s holds', (file, text) => {
    expect(found(file, text)).toEqual([]);
  });

  it('a folder that the table does not know fails until it has a row', () => {
    expect(found('helpers/x.ts', '')).toEqual([
      `${SRC}/helpers/x.ts  belongs to no row of the table in tools/check-imports.mjs: add one`,
    ]);
    expect(partOf('stores/loose.ts')).toBeUndefined();
    expect(partOf('loose.ts')).toBeUndefined();
  });

  it('an adapter may name the types of its declared peer, and nothing of it at run time', () => {
    const entries = [
      { name: 'samekey/koa', source: 'src/adapters/koa/index.ts', peers: { koa: '>=3' }, docs: 'x.md' },
    ];
    expect(found('adapters/koa/index.ts', `import type { Context } from 'koa';`, entries)).toEqual([]);
    expect(found('adapters/koa/index.ts', `import Koa from 'koa';`, entries)).toEqual([
      expect.stringContaining('adapters/koa may import types of koa only'),
    ]);
    expect(found('adapters/koa/index.ts', `import type { Context } from 'express';`, entries)).toEqual([
      expect.stringContaining('adapters/koa must not import the package express'),
      expect.stringContaining('samekey/koa reaches express, which is not a declared peer of it'),
    ]);
  });

  it('the client imports neither a package nor Node, and verify nothing of engine or stores', () => {
    const root = packageTree({
      [`${SRC}/index.ts`]: '',
      'packages/client/package.json': { name: '@samekey/client' },
      'packages/client/entries.json': list('@samekey/client', 'src/index.ts'),
      'packages/client/src/index.ts': `import 'samekey';\nimport 'node:fs';\nimport './keys.ts';`,
      'packages/client/src/keys.ts': '',
      'packages/cli/package.json': { name: '@samekey/cli', dependencies: { samekey: '0' } },
      'packages/cli/entries.json': list('@samekey/cli/verify', 'src/verify/index.ts'),
      'packages/cli/src/main.ts': `import 'samekey';\nimport 'node:fs';`,
      'packages/cli/src/verify/index.ts': `import 'samekey';\nimport 'samekey/internals/core/errors';`,
    });
    expect(lines(checkImports(root))).toEqual([
      'packages/client/src/index.ts:1  . must not import the package samekey',
      'packages/client/src/index.ts:2  . must not import node:fs',
      'packages/client/src/index.ts:1  @samekey/client reaches samekey, which is not a declared peer of it',
      'packages/cli/src/verify/index.ts:1  verify must not import the package samekey',
    ]);
  });

  it("an entry's closure may reach only its peers, through however many modules", () => {
    const entries = [{ name: 'samekey', source: 'src/index.ts', peers: {}, docs: 'x.md', web: true }];
    const root = packageTree(
      {
        [`${SRC}/index.ts`]: `export * from './core/a.ts';`,
        [`${SRC}/core/a.ts`]: `export * from './b.ts';`,
        [`${SRC}/core/b.ts`]: `import 'structured-headers';\nimport 'node:fs';`,
      },
      entries,
    );
    expect(lines(checkImports(root))).toEqual([
      `${SRC}/core/b.ts:1  core must not import the package structured-headers`,
      `${SRC}/core/b.ts:2  core must not import node:fs`,
      `${SRC}/core/b.ts:1  samekey reaches structured-headers, which is not a declared peer of it`,
      `${SRC}/core/b.ts:2  samekey must run without Node, but reaches node:fs`,
    ]);
  });

  it.each([
    'process.exit()',
    'setTimeout(f, 1)',
    'console.log(1)',
    'Date.now()',
    'new Date()',
    'Date()',
    'Math.random()',
    'performance.now()',
    'crypto.randomUUID()',
    'globalThis.process',
    'const b: Buffer = x',
    '({ process })',
    '[Buffer]',
  ])('a core that says %s fails', (text) => {
    expect(found('core/bad.ts', text)).toEqual([
      expect.stringMatching(/core\/bad\.ts:1 {2}core must not use [\w. ]+: it is passed in/),
    ]);
  });

  it('a name that is a member, a key, a parameter or declared in the file is no global', () => {
    const text = `
      interface Job { process: string; crypto(performance: number): void; readonly console?: (process: string) => void }
      const console = 1;
      export function run(process: () => void, job: Job) { process(); return { process: job.process, console }; }
      export const at = new Date(5), pi = Math.PI, now = job.performance;
      export class Queue { process() { return this.process(); } }
      later();
      function later() { return crypto; }
      function crypto() {}
    `;
    expect(globalsUsed('x.ts', text, ['process', 'console', 'crypto', 'performance', 'new Date'])).toEqual(
      [],
    );
  });

  it('http may use timers and Web Crypto, but not Node', () => {
    expect(found('http/good.ts', 'setTimeout(() => crypto.randomUUID(), Date.now());')).toEqual([]);
    expect(found('http/bad.ts', 'Buffer.from([]);')).toEqual([
      expect.stringContaining('must not use Buffer'),
    ]);
  });
});
