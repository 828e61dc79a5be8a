/** The browser of the tests: the one that this machine has. */

import { lack, programOnPath } from './lacking.ts';

/** The program, or undefined, which is told. */
export function chromiumProgram(): string | undefined {
  return (
    programOnPath('chromium') ??
    programOnPath('google-chrome') ??
    lack('tests in a browser: no chromium on PATH', 'Run: apt-get install chromium')
  );
}
