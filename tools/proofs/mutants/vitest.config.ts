/**
 * The tests of the repository over sources of which one has an edit: it is made while the file is loaded, so that the working tree
 * stays as it is. Processes that a test starts from what was built see nothing of it.
 */
import { writeFileSync } from 'node:fs';
import { mergeConfig } from 'vitest/config';
import base from '../../../vitest.config.ts';

/** What to plant: the file, its text, and where to note that a test has loaded it. */
const planted = JSON.parse(process.env['SAMEKEY_MUTANT'] ?? 'null') as {
  readonly file: string;
  readonly text: string;
  readonly loaded: string;
} | null;

export default mergeConfig(base, {
  plugins: [
    {
      name: 'mutant',
      enforce: 'pre',
      transform(_code: string, id: string) {
        if (planted === null || id.split('?')[0] !== planted.file) return null;
        writeFileSync(planted.loaded, '');
        return { code: planted.text, map: null };
      },
    },
  ],
});
