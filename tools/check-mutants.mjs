/**
 * Why: the edits of the mutation run are found by their text. Whoever moves or rewrites that code makes an edit worth nothing without
 * noticing; so each must fit: its text stands there once, what it makes is a module, its tests are there.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMain, ROOT, report } from './lib/report.mjs';
import { AREAS } from './proofs/mutants/index.mjs';
import { misfits } from './proofs/mutants/mutant.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */

/** Of an area with fewer nobody can say that its tests see anything. */
const AREA_LEAST = 5;

/**
 * @param {string} root
 * @param {readonly import('./proofs/mutants/mutant.mjs').Area[]} areas
 * @returns {Problem[]}
 */
export function checkMutants(root, areas = AREAS) {
  const few = areas
    .filter(({ mutants }) => mutants.length < AREA_LEAST)
    .map(({ name, mutants }) => ({
      file: `tools/proofs/mutants/${name}.mjs`,
      message: `has ${mutants.length} mutants, at least ${AREA_LEAST} are wanted: plant more`,
    }));
  const read = (/** @type {string} */ file) => {
    const path = join(root, file);
    return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  };
  const mutants = areas.flatMap((area) => area.mutants);
  return [...few, ...misfits(mutants, read)];
}

if (isMain(import.meta.url)) report('mutants', checkMutants(ROOT));
