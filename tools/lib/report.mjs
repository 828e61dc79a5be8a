/**
 * What every check shares: a check is a function from a root folder to a list of problems; run as a program it prints
 * them, one a line, as `file:line  rule`, and exits 1 when there are any.
 */
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {object} Problem
 * @property {string} file relative to the root, with forward slashes
 * @property {number} [line] from 1
 * @property {string} message what is wrong, and what to do
 */

/** The repository this tool stands in. */
export const ROOT = resolve(fileURLToPath(import.meta.url), '../../..');

/**
 * Whether the module of this URL is the program that node was started with.
 * @param {string} url
 */
export function isMain(url) {
  const started = process.argv[1];
  return started !== undefined && realpathSync(started) === fileURLToPath(url);
}

/**
 * @param {Problem} problem
 * @returns {string}
 */
export function describe(problem) {
  const where = problem.line === undefined ? problem.file : `${problem.file}:${problem.line}`;
  return `${where}  ${problem.message}`;
}

/**
 * Runs a check as a program.
 * @param {string} name
 * @param {Problem[]} problems
 */
export function report(name, problems) {
  for (const problem of problems) console.error(describe(problem));
  if (problems.length > 0) process.exitCode = 1;
  console.log(`${name}: ${problems.length === 0 ? 'holds' : `${problems.length} problem(s)`}`);
}
