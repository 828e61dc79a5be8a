/**
 * Why: an error that no test caught (a rejection nobody hears, a process that died) fails a run in which every test has passed, and
 * vitest's JSON report does not hold it. This reporter writes such errors to the file that LOOSE_ERRORS names, so that the summary can tell them.
 */
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { ROOT } from './report.mjs';

export const LOOSE_ERRORS = 'SAMEKEY_LOOSE_ERRORS';

/**
 * What vitest knows of an error outside of tests.
 * @typedef {object} LooseError
 * @property {unknown} [type]
 * @property {string} [name]
 * @property {string} message
 * @property {string} [stack]
 * @property {unknown} [VITEST_TEST_PATH]
 * @property {unknown} [VITEST_TEST_NAME]
 * @property {{ message?: unknown }} [cause]
 */

/**
 * One line for an error: its kind, the file and test that ran when it came (not always those that caused it), and where it was made.
 * @param {LooseError} error
 */
export function lineOf(error) {
  const { type, name, message, stack, cause, VITEST_TEST_PATH: path, VITEST_TEST_NAME: test } = error;
  const at = stack?.split('\n').find((line) => /^\s+at .*(?:packages|tools|examples)\//.test(line));
  const during = [typeof path === 'string' ? relative(ROOT, path) : undefined, test].filter(Boolean);
  return [
    typeof type === 'string' ? type : 'Unhandled Error',
    ...(during.length > 0 ? [`while ${during.join(' > ')} ran`] : []),
    `${name ?? 'Error'}: ${message.split('\n').slice(0, 3).join(' · ')}`,
    ...(typeof cause?.message === 'string' ? [cause.message] : []),
    ...(at === undefined ? [] : [at.trim().replaceAll(ROOT, '.')]),
  ].join(': ');
}

/** Whether it only says that a process of tests has died: then tests of a file have not ended, which the report shows. */
export function isDeath(/** @type {string} */ line) {
  return line.includes('[vitest-pool]');
}

export default class LooseErrors {
  /**
   * @param {readonly unknown[]} _modules
   * @param {readonly LooseError[]} errors
   */
  onTestRunEnd(_modules, errors) {
    const file = process.env[LOOSE_ERRORS];
    if (file !== undefined) writeFileSync(file, JSON.stringify(errors.map(lineOf)));
  }
}
