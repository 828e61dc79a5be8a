/** Entries that are packages of their own now: each import says what to import, by name as well. */

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const source = readFileSync(new URL('../../src/moved.ts', import.meta.url), 'utf8');

const SUBPATHS = ['keys', 'node', 'fetch', 'axios', 'ky', 'got', 'react'];

it.each<[entry: string, now: string, words: string]>([
  ['samekey/client', '@samekey/client', '"@samekey/client" for "samekey/client"'],
  ...SUBPATHS.map((name): [string, string, string] => [
    `samekey/client/${name}`,
    `@samekey/client/${name}`,
    `/${name}`,
  ]),
  ['samekey/testing', '@samekey/testing', '"@samekey/testing" for "samekey/testing"'],
  ['samekey/verify', '@samekey/cli/verify', '"@samekey/cli/verify" for "samekey/verify"'],
])('%s says that it is %s now, whatever is imported of it', async (entry, now, words) => {
  await expect(import(entry)).rejects.toMatchObject({
    code: 'ERR_SAMEKEY_MOVED',
    message: expect.stringContaining(words) as unknown,
  });
  // A name that a module lacks is refused by the loader, before the module could say anything.
  const names = Object.keys((await import(now)) as object);
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => !source.includes(`moved as ${name},`))).toEqual([]);
});
