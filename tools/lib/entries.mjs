/** The one list of what the package `samekey` exports: packages/samekey/entries.json. */
import { readJson } from './files.mjs';

export const PACKAGE = 'packages/samekey';

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
 * @returns {Entry[]}
 */
export function readEntries(root) {
  return readJson(root, `${PACKAGE}/entries.json`);
}
