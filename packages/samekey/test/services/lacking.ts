/**
 * What this machine has for tests, asked in one way: a program is looked for on PATH, and what is not there is named once, with what
 * installs it. Under `SAMEKEY_TEST_REQUIRE=all`, as in CI, it fails instead. A whole run names everything at its end
 * (`tell-lacking.ts`); whoever starts a single file without vitest reads it on the console.
 */

import { appendFileSync, existsSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';

/** The file in which a run collects what is lacking. */
export const LACKING_FILE = 'SAMEKEY_TEST_LACKING_FILE';

/**
 * Says that tests are skipped, and what would make them run. Throws where everything is required.
 * @returns undefined, for `return lack(…)` in place of what is not there
 */
export function lack(tests: string, remedy: string, cause?: unknown): undefined {
  const message = `SKIPPED: ${tests}. ${remedy}`;
  if (process.env['SAMEKEY_TEST_REQUIRE'] === 'all') throw new Error(message, { cause });
  tellLacking(message);
  return undefined;
}

/** Names what no run asks for, required or not. */
export function tellLacking(message: string): void {
  const file = process.env[LACKING_FILE];
  if (file === undefined) console.warn(message);
  else appendFileSync(file, `${message}\n`);
}

/** Where a program is. Servers are often in the `sbin` beside a `bin` of PATH, which ordinary users do not have there. */
export function programOnPath(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const beside = folders
    .filter((folder) => basename(folder) === 'bin')
    .map((bin) => join(dirname(bin), 'sbin'));
  return [...folders, ...beside].map((folder) => join(folder, name)).find((path) => existsSync(path));
}
