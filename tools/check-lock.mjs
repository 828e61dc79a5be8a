/**
 * Why: what one machine knows must not be written into the project. A registry's host in the lock file, or a local path in a
 * script, works where it was written and nowhere else; a focused or silently skipped test makes a run green that proved
 * nothing; a lock file made on one platform can lack the binaries of the others.
 */
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { projectFiles, readText } from './lib/files.mjs';
import { lineOf } from './lib/parse.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */

/**
 * @typedef {object} Ban
 * @property {RegExp} pattern
 * @property {string} message
 * @property {RegExp} [files] which files it is about; all if left out
 */

const TESTS = /\.test\.[cm]?tsx?$/;

/** @type {Ban[]} */
const BANS = [
  {
    pattern: /"resolved":\s*"https?:/,
    message: 'a registry address: keep omit-lockfile-registry-resolved=true in .npmrc',
    files: /\.json$/,
  },
  {
    pattern: /\bregistry\.[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|dev|io|net|org|internal|local)\b/,
    message: 'the host of a package registry',
  },
  {
    pattern: /(?<![\w.])\/(?:work|root|home\/\w+|Users\/\w+)\/[\w.]/,
    message: 'a path of one machine',
  },
  {
    pattern: /\b(?:describe|it|test|suite|bench)(?:\.\w+)*\.only\b/,
    message: 'a focused test: the others would not run',
    files: TESTS,
  },
];

const SKIP = /\b(?:describe|it|test|suite)(?:\.\w+)*\.(?:skip|todo)\(/;

/**
 * @param {string} file
 * @param {string} text
 * @returns {Problem[]}
 */
export function checkText(file, text) {
  /** @type {Problem[]} */
  const problems = [];
  for (const { pattern, message, files } of BANS) {
    if (files !== undefined && !files.test(file)) continue;
    for (const match of text.matchAll(new RegExp(pattern, 'g')))
      problems.push({ file, line: lineOf(text, match.index), message: `${message} (${match[0]})` });
  }
  if (TESTS.test(file)) problems.push(...checkSkips(file, text));
  return problems;
}

/**
 * A test that does not run says why, on its line or on the line before: the reason is what a later reader needs.
 * @param {string} file
 * @param {string} text
 * @returns {Problem[]}
 */
function checkSkips(file, text) {
  const lines = text.split('\n');
  return lines.flatMap((line, at) =>
    SKIP.test(line) && !/\bbecause\b/i.test(`${lines[at - 1] ?? ''} ${line}`)
      ? [{ file, line: at + 1, message: 'a skipped test without a reason: say why ("… because …")' }]
      : [],
  );
}

/**
 * Every optional package that something in the lock file names is in it: npm chooses by platform when it installs, but can
 * only choose among what was locked.
 * @param {string} file
 * @param {{ packages?: Record<string, { optionalDependencies?: Record<string, string> }> }} lock
 * @returns {Problem[]}
 */
export function checkPlatforms(file, lock) {
  const packages = lock.packages ?? {};
  /** @type {Problem[]} */
  const problems = [];
  for (const [path, { optionalDependencies = {} }] of Object.entries(packages)) {
    for (const name of Object.keys(optionalDependencies)) {
      const nested = `${path}/node_modules/${name}`;
      if (!(nested in packages) && !(`node_modules/${name}` in packages))
        problems.push({ file, message: `${path} names ${name}, which is not locked: remake the lock file` });
    }
  }
  return problems;
}

/**
 * @param {string} root
 * @returns {Problem[]}
 */
function checkLock(root) {
  /** @type {Problem[]} */
  const problems = [];
  for (const file of projectFiles(root)) {
    if (!existsSync(`${root}/${file}`)) continue;
    const text = readText(root, file);
    // A picture or a database is not text.
    if (text.includes('\0')) continue;
    problems.push(...checkText(file, text));
    if (basename(file) === 'package-lock.json') problems.push(...checkPlatforms(file, JSON.parse(text)));
  }
  return problems;
}

if (isMain(import.meta.url)) report('lock', checkLock(ROOT));
