/** Where the programs of this folder are started from: bundled beside what is built of them, which `tools/lib/programs.mjs` does. */

import { fileURLToPath } from 'node:url';

/** Seen from the sources they lie in `.out`; seen from there, beside this folder. */
export function programOf(name: string): string {
  const path = import.meta.url.endsWith('.ts') ? `.out/programs/${name}.js` : `../programs/${name}.js`;
  return fileURLToPath(new URL(path, import.meta.url));
}
