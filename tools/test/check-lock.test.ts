import { describe, expect, it } from 'vitest';
import { checkPlatforms, checkText } from '../check-lock.mjs';
import { lines } from './fixture.ts';

// Put together here, so that this file itself holds none of what is forbidden.
const HOST = ['registry', 'example', 'org'].join('.');
const LOCAL = ['', 'work', 'main', 'tools'].join('/');
const only = ['it', 'only'].join('.');
const nestedOnly = ['describe', 'concurrent', 'only'].join('.');
const skip = ['it', 'skip'].join('.');
const todo = ['it', 'todo'].join('.');

/** A lock file whose driver has a binary for two platforms, of which these are locked. */
const lock = (names: string[]) => ({
  packages: {
    'node_modules/driver': { optionalDependencies: { 'driver-linux': '1', 'driver-darwin': '1' } },
    ...Object.fromEntries(names.map((name) => [name, {}])),
  },
});

describe('check-lock', () => {
  it.each([
    ['package-lock.json', `{\n"resolved": "https://packages.example/x.tgz" }`, ':2  a registry address'],
    ['.npmrc', `registry=https://${HOST}/`, ':1  the host of a package registry'],
    ['docs/a.md', `See ${LOCAL}/x.mjs`, ':1  a path of one machine'],
    ['a.test.ts', `${only}('x', () => {});`, ':1  a focused test'],
    ['a.test.ts', `${nestedOnly}('x', () => {});`, ':1  a focused test'],
    ['a.test.ts', `\n\n${skip}('x', () => {});`, ':3  a skipped test without a reason'],
    ['a.test.ts', `${todo}('x');`, ':1  a skipped test without a reason'],
  ])('%s with %j fails', (file, text, message) => {
    expect(lines(checkText(file, text))).toEqual([expect.stringContaining(`${file}${message}`)]);
  });

  it.each([
    ['package-lock.json', `{ "resolved": "packages/samekey", "url": "https://example.com/sponsor" }`],
    ['docs/a.md', 'the registry. And a URL with https://example.com/work/x'],
    ['a.ts', `rows.only('x')`],
    ['a.test.ts', `${skip}('x', () => {}); // because Windows has no SIGSTOP`],
    ['a.test.ts', `// Because of a fault in Node 20.\n${skip}('x', () => {});`],
  ])('%s with %j holds', (file, text) => {
    expect(lines(checkText(file, text))).toEqual([]);
  });

  it('a binary of another platform that was not locked fails', () => {
    const both = ['node_modules/driver-linux', 'node_modules/driver/node_modules/driver-darwin'];
    expect(checkPlatforms('package-lock.json', lock(both))).toEqual([]);
    expect(lines(checkPlatforms('package-lock.json', lock(both.slice(0, 1))))).toEqual([
      expect.stringContaining('node_modules/driver names driver-darwin, which is not locked'),
    ]);
  });
});
