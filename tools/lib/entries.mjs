/** What the packages export: the list `entries.json` of each. A package without one is only run. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readJson } from './files.mjs';

export const PACKAGE = 'packages/samekey';

/** The folders of the packages that are published, in the order in which they build on each other. */
export const PUBLISHED = [PACKAGE, 'packages/client', 'packages/testing', 'packages/console', 'packages/cli'];

/**
 * Entries that `samekey` once had. What they lead to says what to import instead: a resolver would only say that there is nothing.
 */
export const MOVED = { source: 'src/moved.ts', paths: ['./client', './client/*', './testing', './verify'] };

/**
 * @typedef {object} Entry
 * @property {string} name what a user imports
 * @property {string} source its module, relative to the package
 * @property {Record<string, string>} peers the packages a user brings for it, with the range that is tested
 * @property {string} docs the page that explains it, relative to the root
 * @property {boolean} [web] runs without Node: nothing it reaches may name a `node:` module or a Node type
 */

/**
 * @param {string} root
 * @param {string} [folder] of the package
 * @returns {Entry[]}
 */
export function readEntries(root, folder = PACKAGE) {
  return readJson(root, `${folder}/entries.json`);
}

/**
 * The folders of the packages that are imported.
 * @param {string} root
 * @returns {string[]}
 */
export function importedPackages(root) {
  return PUBLISHED.filter((folder) => existsSync(join(root, folder, 'entries.json')));
}
