/** The command as its user runs it: built, and of the sources that stand here. A build that is older would be tested in their place (F156). */

import { readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The built command. Throws where a source is newer than what was built of it. */
export const MAIN: string = builtOf(['packages/cli', 'packages/samekey']);

function builtOf(packages: readonly string[]): string {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  for (const name of packages) {
    const builtAt = statSync(`${root}${name}/dist/.tsbuildinfo`, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    const newer = readdirSync(`${root}${name}/src`, { recursive: true, encoding: 'utf8' }).find(
      (path) => path.endsWith('.ts') && statSync(`${root}${name}/src/${path}`).mtimeMs > builtAt,
    );
    if (newer !== undefined)
      throw new Error(
        `${name}/src/${newer} is newer than what was built of it: run \`npm run build\` first.`,
      );
  }
  return `${root}packages/cli/dist/main.js`;
}
