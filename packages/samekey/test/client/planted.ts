/** The edit of the mutation run (tools/proofs/mutants), for pages that a test bundles itself. */

import { writeFileSync } from 'node:fs';

interface Planted {
  readonly file: string;
  readonly text: string;
  readonly loaded: string;
}

/** A plugin of the bundler; without an edit it changes nothing. */
export function planted(): { name: string; transform(code: string, id: string): string | null } {
  const edit = JSON.parse(process.env['SAMEKEY_MUTANT'] ?? 'null') as Planted | null;
  return {
    name: 'planted',
    transform(_code, id) {
      if (edit === null || id !== edit.file) return null;
      writeFileSync(edit.loaded, '');
      return edit.text;
    },
  };
}
