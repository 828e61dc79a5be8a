import { describe, expect, it } from 'vitest';
import { checkCodes, checkPages, checkPrinted, unexplained } from '../check-site.mjs';
import { compose } from '../site/code-pages.mjs';
import { isOurs } from '../site/where.mjs';
import { lines, tree } from './fixture.ts';

const page = (body: string, head = '') =>
  `<!doctype html><html><head>${head}</head><body>${body}</body></html>`;

describe('check-site', () => {
  it('a link that leads nowhere is found, also one to a heading, a folder or a file', () => {
    const folder = tree({
      'index.html': page(
        '<a href="guides/a/">a</a> <a href="guides/b/">b</a> <a href="guides/a/#here">here</a> <a href="guides/a/#gone">gone</a> <a href="a.md">twin</a>',
      ),
      'guides/a/index.html': page(
        '<h2 id="here">Here</h2> <a href="../../">home</a> <a href="#there">there</a>',
      ),
      'a.md': '# A',
    });
    expect(lines(checkPages(folder))).toEqual([
      'guides/a/index.html  guides/a/index.html has nothing with the id there',
      'index.html  the link guides/b/ leads nowhere',
      'index.html  guides/a/index.html has nothing with the id gone',
    ]);
  });

  it('a request to another host, a script in the page and a heavy page are found', () => {
    const folder = tree({
      'index.html': page(
        '<img src="https://elsewhere.example/dot.gif"><p onclick="x()" style="color:red">x</p><a href="https://elsewhere.example">may be linked</a>',
        '<script src="//elsewhere.example/x.js"></script><link rel="stylesheet" href="site.css"><link rel="canonical" href="https://x.example">',
      ),
      // What does not get smaller on its way.
      'site.css': Array.from({ length: 60_000 }, (_, at) => Math.sin(at).toString(36)).join(''),
    });
    expect(lines(checkPages(folder))).toEqual([
      expect.stringContaining('an inline style or script on <p>'),
      expect.stringContaining('asks another host: //elsewhere.example/x.js'),
      expect.stringContaining('asks another host: https://elsewhere.example/dot.gif'),
      expect.stringContaining('a first visit loads'),
    ]);
  });

  it('a page for addresses that are not there leads nowhere by a relative link', () => {
    const folder = tree({
      'index.html': page(''),
      '404.html': page('<a href="/docs/">home</a> <a href="./">here</a> <a href="/docs/gone/">gone</a>'),
    });
    expect(lines(checkPages(folder, '/docs/'))).toEqual([
      '404.html  ./ leads elsewhere from each address: begin it with /docs/',
      '404.html  the link /docs/gone/ leads nowhere',
    ]);
  });

  it('a code without its words on the site is found', async () => {
    const folder = tree({ 'errors/index.html': page('<h3 id="key-reused">key-reused</h3>') });
    expect(
      lines(
        unexplained(folder, [
          'https://samekey.example/errors#key-reused',
          'https://samekey.example/errors#key-lost',
          'https://bought-by-somebody.example/errors#key-reused',
        ]),
      ),
    ).toEqual([
      'docs/reference/errors.md  https://samekey.example/errors#key-lost leads nowhere',
      'docs/reference/errors.md  https://bought-by-somebody.example/errors#key-reused leads nowhere',
    ]);
    const missing = lines(await checkCodes(folder));
    expect(missing.length).toBeGreaterThan(40);
    expect(missing.filter((line) => line.includes('#key-reused '))).toEqual([]);
  });

  it('a message that names a file of the repository, or a page that is not there, is found', () => {
    const folder = tree({ 'concepts/guarantees/index.html': page('<h2 id="disks">Disks</h2>') });
    const root = tree({
      'packages/cli/src/a.ts': [
        '// docs/internals/postgres.md says why.',
        "say('Read docs/concepts/guarantees.md.');",
        'say(`${x}: docs/internals/redis.md`);',
        "say(docsPage('concepts/guarantees#disks'));",
        "say(docsPage('concepts/guarantees#power'));",
        'say(docsPage(`concepts/guarantees#di${x}`));',
        'say(docsPage(`concepts/guarantees#po${x}`));',
        "say(docsPage('concepts/guarantee'));",
      ].join('\n'),
    });
    expect(lines(checkPrinted(folder, root))).toEqual([
      'packages/cli/src/a.ts  the page of https://samekey.example/concepts/guarantees#power has no such anchor',
      'packages/cli/src/a.ts  the page of https://samekey.example/concepts/guarantees#po… has no such anchor',
      'packages/cli/src/a.ts  https://samekey.example/concepts/guarantee has no page',
      'packages/cli/src/a.ts  prints docs/concepts/guarantees.md, which no user has: name its page by docsPage()',
      'packages/cli/src/a.ts  prints docs/internals/redis.md, which no user has: name its page by docsPage()',
    ]);
  });

  it('an address that is shipped without a page is found', () => {
    const folder = tree({ 'errors/index.html': page('') });
    const root = tree({
      'packages/samekey/src/a.ts': `export const HELP = 'https://samekey.example/errors';`,
      'ops/alerts.yaml': 'runbook_url: https://samekey.example/runbooks/gone',
    });
    expect(lines(checkPrinted(folder, root))).toEqual([
      'ops/alerts.yaml  https://samekey.example/runbooks/gone has no page',
    ]);
  });

  it('a program gets another store: its imports and its lines in place of what was there', () => {
    const program = [
      `import { createSamekey } from 'samekey';`,
      `import { memoryStore } from 'samekey/stores/memory';`,
      '',
      'const samekey = createSamekey({ store: memoryStore() });',
      'use(samekey);',
    ].join('\n');
    const store = [
      `import { Pool } from 'pg';`,
      `import { postgresMigrations, postgresStore } from 'samekey/stores/postgres';`,
      '',
      'const store = postgresStore({ pool: new Pool() });',
      'console.log(postgresMigrations());',
    ].join('\n');
    expect(compose(program, store).split('\n')).toEqual([
      `import { createSamekey } from 'samekey';`,
      `import { Pool } from 'pg';`,
      `import { postgresStore } from 'samekey/stores/postgres';`,
      '',
      'const store = postgresStore({ pool: new Pool() });',
      'const samekey = createSamekey({ store });',
      'use(samekey);',
    ]);
    expect(() => compose('const samekey = other();', store)).toThrow('makes no instance in one line');
  });

  it('a name that nobody may own is no home', () => {
    expect(isOurs('https://samekey.example')).toBe(false);
    expect(isOurs('https://docs.bank.internal/samekey')).toBe(true);
  });
});
