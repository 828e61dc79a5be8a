/** Files of the project, always as paths relative to the root with forward slashes, in a stable order. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';

const NEVER = new Set(['node_modules', 'dist', '.out', '.git', '.build']);

/**
 * All files under `folder`, without what is installed or built.
 * @param {string} root
 * @param {string} folder
 * @returns {string[]}
 */
export function walkFiles(root, folder = '.') {
  if (!existsSync(join(root, folder))) return [];
  /** @type {string[]} */
  const files = [];
  for (const item of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = posix.join(folder, item.name);
    if (item.isDirectory()) {
      if (!NEVER.has(item.name)) files.push(...walkFiles(root, path));
    } else files.push(path);
  }
  return files.toSorted();
}

/**
 * What git tracks, and what it would: new files that no ignore rule names. A check that looks at these sees a fault before
 * it is committed.
 * @param {string} root
 * @returns {string[]}
 */
export function projectFiles(root) {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const files = listed.split('\0').filter((file) => file !== '' && existsSync(join(root, file)));
  return [...new Set(files)].toSorted();
}

/**
 * @param {string} root
 * @param {string} file
 */
export function readText(root, file) {
  return readFileSync(join(root, file), 'utf8');
}

/**
 * @param {string} root
 * @param {string} file
 * @returns {any}
 */
export function readJson(root, file) {
  return JSON.parse(readText(root, file));
}

/**
 * A folder for what a check makes on its way, inside the repository (so that packages resolve) and ignored by git.
 * @param {string} root
 * @param {string} name
 */
export function buildFolder(root, name) {
  const folder = join(root, '.build', name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(root, '.build/.gitignore'), '*\n');
  return folder;
}
