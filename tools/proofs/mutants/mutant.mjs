/**
 * Why: a test that passes says nothing until it has been seen to fail. A mutant is one small edit that makes the code wrong; the
 * tests it names must fail on it. What is here: the shape of an edit, whether it still fits the code, and the edited text.
 */
import { parse } from '../../lib/parse.mjs';

/**
 * @typedef {object} Mutant
 * @property {string} name unlike all others; what was done, in a few words
 * @property {string} file under packages/samekey/src, or of another package, or of tools, with its whole path
 * @property {string} find text that stands in the file exactly once
 * @property {string} put what stands there instead
 * @property {string[]} tests files under packages/samekey/test, or elsewhere with their whole path, that must fail on it
 * @property {string} [only] titles of tests, as vitest's `-t` takes them; needed where the others take long
 * @property {string} breaks what goes wrong, in one sentence
 * @property {string} [equivalent] why nothing goes wrong after all: then no test has to fail
 */

/** @typedef {{ name: string, mutants: Mutant[] }} Area */

const SRC = 'packages/samekey/src';
const TEST = 'packages/samekey/test';

/** @param {string} file */
const isWhole = (file) => /^(?:packages|tools)\//.test(file);

/** @param {Mutant} mutant */
export const sourceOf = ({ file }) => (isWhole(file) ? file : `${SRC}/${file}`);

/** @param {Mutant} mutant */
export const testsOf = ({ tests }) => tests.map((file) => (isWhole(file) ? file : `${TEST}/${file}`));

/**
 * What is wrong with the edit, or the text with the edit made. An edit that makes no module would be killed by whatever imports
 * it, which proves nothing.
 * @param {Mutant} mutant
 * @param {(file: string) => string | undefined} read
 * @returns {{ text: string } | { problem: string }}
 */
export function plant(mutant, read) {
  const file = sourceOf(mutant);
  const looked = `It looks in ${file} for: ${JSON.stringify(mutant.find)}`;
  const text = read(file);
  if (text === undefined) return { problem: `the file is gone. ${looked}` };
  const times = text.split(mutant.find).length - 1;
  if (mutant.find === '' || times !== 1)
    return { problem: `its text stands there ${times} times. ${looked}` };
  if (mutant.find === mutant.put) return { problem: `it changes nothing. ${looked}` };
  for (const test of testsOf(mutant)) {
    if (read(test) === undefined) return { problem: `its test ${test} is gone. ${looked}` };
  }
  const edited = text.replace(mutant.find, () => mutant.put);
  try {
    parse(file, edited);
  } catch (error) {
    return { problem: `the edited file is no module: ${String(error)}. ${looked}` };
  }
  return { text: edited };
}

/**
 * Everything that no longer holds of a list of edits.
 * @param {readonly Mutant[]} mutants
 * @param {(file: string) => string | undefined} read
 * @returns {{ file: string, message: string }[]}
 */
export function misfits(mutants, read) {
  /** @type {{ file: string, message: string }[]} */
  const problems = [];
  /** @type {Set<string>} */
  const names = new Set();
  for (const mutant of mutants) {
    const { name } = mutant;
    const say = (/** @type {string} */ message) =>
      problems.push({ file: sourceOf(mutant), message: `the mutant "${name}" does not fit: ${message}` });
    if (names.has(name)) say('another one has its name.');
    names.add(name);
    if (mutant.tests.length === 0) say('it names no test that must fail on it.');
    if (!/\w.*\.$/u.test(mutant.breaks)) say('`breaks` is one sentence.');
    const planted = plant(mutant, read);
    if ('problem' in planted) say(planted.problem);
  }
  return problems;
}
