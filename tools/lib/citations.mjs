/** Where tests cite cases from the field: a comment right before a test, `// F81`. */
import { posix } from 'node:path';
import { readText, walkFiles } from './files.mjs';

const PACKAGE = 'packages/samekey';

/** Contracts, and the folder of the tests that run them over every door or store. */
const CONTRACTS = {
  [`packages/testing/src/adapter/`]: `${PACKAGE}/test/adapters/`,
  [`packages/testing/src/engine/`]: `${PACKAGE}/test/engine/`,
  [`packages/testing/src/kth/`]: `${PACKAGE}/test/engine/`,
  [`packages/testing/src/contract/`]: `${PACKAGE}/test/stores/`,
  [`packages/testing/src/tx/`]: `${PACKAGE}/test/tx/`,
  [`packages/testing/src/outbox/`]: `${PACKAGE}/test/outbox/`,
};

/** @typedef {{ name: string, file: string, title: string | null }} Citation `title`: what is literal in the title of the next test */

/**
 * Every citation in the tests of the project.
 * @param {string} root
 * @returns {Citation[]}
 */
export function citations(root) {
  const folders = ['packages/testing/src', `${PACKAGE}/test`, 'packages/cli/test', 'tools/test', 'examples'];
  return folders
    .flatMap((folder) => walkFiles(root, folder))
    .filter((file) => /\.(ts|mjs)$/.test(file))
    .flatMap((file) => citationsIn(file, readText(root, file)));
}

/**
 * @param {string} file
 * @param {string} text
 * @returns {Citation[]}
 */
export function citationsIn(file, text) {
  /** @type {Citation[]} */
  const found = [];
  for (const match of text.matchAll(/^[ \t]*\/\/.*\bF\d+\b.*$/gm)) {
    const title = titleAfter(
      text.slice(match.index + match[0].length, match.index + match[0].length + 4_000),
    );
    for (const [name] of match[0].matchAll(/\bF\d+\b/g)) found.push({ name, file, title });
  }
  for (const match of text.matchAll(
    /\b(?:it|test)\(\s*(['"`])((?:(?!\1).)*\((?:F\d+(?:, )?)+\)[^'"`]*)\1/g,
  )) {
    const [, , title = ''] = match;
    for (const [name] of title.matchAll(/\bF\d+\b/g)) found.push({ name, file, title: literalOf(title) });
  }
  return found;
}

/**
 * The title of the next test, as far as it is literal; null where there is none.
 * @param {string} text
 */
function titleAfter(text) {
  const match = /(?:\b(?:it|test)\(|\]\)\(|^\s*\)\()\s*(['"`])((?:(?!\1)[^\\]|\\.)*)\1/m.exec(text);
  return match === null ? null : literalOf(match[2] ?? '');
}

/**
 * The longest part of a title in which nothing is filled in.
 * @param {string} title
 */
function literalOf(title) {
  const parts = title.split(/\$\{[^}]*\}|%[a-z]|\$\w+/).map((part) => part.trim());
  const [longest = ''] = parts.toSorted((a, b) => b.length - a.length);
  return longest.length < 4 ? null : longest.replaceAll(/\\(.)/g, '$1');
}

/**
 * What vitest has to run for a file: the file, or the tests that run a contract over everything.
 * @param {string} file
 */
export function runnerOf(file) {
  for (const [contract, tests] of Object.entries(CONTRACTS)) if (file.startsWith(contract)) return tests;
  return file.endsWith('.test.ts') ? file : `${posix.dirname(file)}/`;
}

/**
 * Whether a file is a part of a contract that every door or store is held to.
 * @param {string} file
 */
export function isContract(file) {
  return Object.keys(CONTRACTS).some((contract) => file.startsWith(contract));
}
