import { describe, expect, it } from 'vitest';
import { checkBlocks, checkLinks, programsOf } from '../check-docs.mjs';
import { lines, tree } from './fixture.ts';

const fence = (code: string, info = 'ts') => `\`\`\`${info}\n${code}\n\`\`\`\n`;

describe('check-docs', () => {
  it('a block that does not compile is reported with the line of its page', async () => {
    const root = tree({
      'README.md': `# Readme\n\n${fence('const n: number = 1;\nconst s: number = "one";')}`,
      'docs/guides/a.md': fence('const list: string[] = [];\nconst one: string = list[0];'),
      'docs/guides/good.md': `${fence('export const n: number = 1;')}${fence('const n = 2;\nexport { n };')}`,
    });
    expect(lines(await checkBlocks(root))).toEqual([
      expect.stringMatching(/^README\.md:5 {2}error TS2322/),
      // The strict options of the project hold: list[0] may be undefined.
      expect.stringMatching(/^docs\/guides\/a\.md:3 {2}error TS2322/),
    ]);
  });

  it('a block sees the packages of the workspace, and node:sqlite', async () => {
    const root = tree({
      'README.md': fence(
        [
          `import { errorCode } from 'samekey';`,
          `import express from 'express';`,
          `import Database from 'better-sqlite3';`,
          `import { DatabaseSync } from 'node:sqlite';`,
          'express().get("/", (request, response) => { response.send(errorCode(request.params)); });',
          'new Database(":memory:").exec(""); new DatabaseSync(":memory:").exec("");',
        ].join('\n'),
      ),
    });
    expect(lines(await checkBlocks(root))).toEqual([]);
  });

  it('a block that continues is one program with those before it on its page', async () => {
    const root = tree({
      'docs/a.md': `${fence('const n = 1;')}\ntext\n\n${fence('// continues\nexport const s: string = n;')}`,
      'docs/b.md': fence('// continues\nexport const n = 1;'),
    });
    expect(lines(await checkBlocks(root))).toEqual([
      'docs/b.md:2  there is no block before this one to continue',
      expect.stringMatching(/^docs\/a\.md:9 {2}error TS2322/),
    ]);
  });

  it('a block cannot be left out', async () => {
    const root = tree({ 'README.md': `\n${fence('x;', 'ts ignore')}` });
    expect(lines(await checkBlocks(root))).toContainEqual(
      'README.md:2  every ts block is compiled: `ignore` is not known',
    );
  });

  it('every line of a program keeps its number, and other languages are not compiled', () => {
    expect(programsOf(`a\n\n${fence('one();')}${fence('x', 'sh')}${fence('two();')}`).programs).toEqual([
      '\n\n\none();\n',
      '\n\n\n\n\n\n\n\n\ntwo();\n',
    ]);
  });

  it('links and anchors that lead nowhere fail, others are left alone', () => {
    const root = tree({
      'README.md':
        '# Read me\n[a](docs/a.md) [b](docs/a.md#part-two) [c](#read-me) [d](https://example.com/x#y)\n' +
        '[e](docs/b.md) [f](docs/a.md#part-three) [g](#nowhere) ![h](picture.png)\n[i][r]\n\n[r]: ../outside.md\n',
      'docs/a.md':
        '# A\n## Part *two*\n<a id="own"></a>\n[up](../README.md#read-me) [own](#own) [folder](.)\n',
    });
    expect(lines(checkLinks(root))).toEqual([
      'README.md:3  the link docs/b.md leads nowhere',
      'README.md:3  docs/a.md has no heading #part-three',
      'README.md:3  README.md has no heading #nowhere',
      'README.md:3  the link picture.png leads nowhere',
      'README.md:6  the link ../outside.md leads nowhere',
    ]);
  });
});
