/**
 * Why: weight is paid by everybody and grows by imports that look harmless. Bundles the entries that browsers load, minified and
 * compressed as a server would send them; weighs each package as it is published; counts what an entry loads when it is imported. Fails
 * above the budget, which is written here.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { importedPackages, PACKAGE, readEntries } from './lib/entries.mjs';
import { readText, walkFiles } from './lib/files.mjs';
import { specifiersOf } from './lib/parse.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';
import { packFolder } from './pack.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */

/** @type {readonly { file: string, maxBytes: number }[]} */
export const LIMITS = [{ file: `${PACKAGE}/src/client/index.ts`, maxBytes: 6144 }];

/**
 * The size of an entry with all it reaches, in bytes.
 * @param {string} path
 * @returns {Promise<number>}
 */
export async function sizeOf(path) {
  const bundle = await rolldown({
    input: path,
    platform: 'browser',
    logLevel: 'silent',
    external: [/^node:/],
  });
  try {
    const { output } = await bundle.generate({ format: 'esm', minify: true });
    const code = output.map((chunk) => (chunk.type === 'chunk' ? chunk.code : '')).join('');
    return gzipSync(code, { level: 9 }).length;
  } finally {
    await bundle.close();
  }
}

/**
 * @param {string} root
 * @param {readonly { file: string, maxBytes: number }[]} limits
 * @returns {Promise<Problem[]>}
 */
export async function checkSize(root, limits = LIMITS) {
  /** @type {Problem[]} */
  const problems = [];
  for (const { file, maxBytes } of limits) {
    const bytes = await sizeOf(join(root, file));
    if (bytes > maxBytes)
      problems.push({ file, message: `has ${bytes} bytes compressed, at most ${maxBytes}: import less` });
  }
  return problems;
}

/** What a package may weigh as it is published, unpacked. @type {Readonly<Record<string, { files: number, kilobytes: number }>>} */
const WEIGHTS = {
  'packages/samekey': { files: 1_100, kilobytes: 2_200 },
  'packages/testing': { files: 250, kilobytes: 900 },
  'packages/cli': { files: 200, kilobytes: 420 },
};

/**
 * What an import of an entry may load of ours, in modules and kilobytes of JavaScript as published. The others are held by the weight of
 * the package. @type {Readonly<Record<string, { files: number, kilobytes: number }>>}
 */
const CLOSURES = {
  samekey: { files: 112, kilobytes: 320 },
  'samekey/express': { files: 155, kilobytes: 440 },
  'samekey/hono': { files: 138, kilobytes: 410 },
  'samekey/fetch': { files: 136, kilobytes: 400 },
  'samekey/stores/memory': { files: 30, kilobytes: 95 },
  'samekey/stores/sqlite': { files: 57, kilobytes: 175 },
  'samekey/stores/postgres': { files: 77, kilobytes: 265 },
  'samekey/stores/mysql': { files: 60, kilobytes: 200 },
  'samekey/stores/redis': { files: 50, kilobytes: 155 },
  'samekey/stores/dynamodb': { files: 50, kilobytes: 147 },
  '@samekey/cli/verify': { files: 40, kilobytes: 100 },
};

/**
 * Modules and kilobytes that stand behind an entry in a packed package, lazy ones not counted.
 * @param {string} packed
 * @param {string} start
 */
export function closureWeight(packed, start) {
  const seen = new Set([start]);
  let bytes = 0;
  for (const file of seen) {
    const text = readText(packed, file);
    bytes += Buffer.byteLength(text);
    for (const { name, lazy } of specifiersOf(file, text))
      if (!lazy && name?.startsWith('.') === true) seen.add(posix.join(posix.dirname(file), name));
  }
  return { files: seen.size, kilobytes: Math.ceil(bytes / 1_000) };
}

/**
 * @param {string} what
 * @param {{ files: number, kilobytes: number }} found
 * @param {{ files: number, kilobytes: number } | undefined} budget
 * @returns {Problem[]}
 */
function over(what, found, budget) {
  if (budget === undefined || (found.files <= budget.files && found.kilobytes <= budget.kilobytes)) return [];
  const asked = `${budget.files} files and ${budget.kilobytes} kB`;
  return [
    {
      file: 'tools/check-size.mjs',
      message: `${what} is ${found.files} files and ${found.kilobytes} kB, its budget ${asked}: import less, or say there why it needs more`,
    },
  ];
}

/**
 * The packages as they are published, and what their entries load.
 * @param {string} root
 * @param {(line: string) => void} tell
 * @returns {Problem[]}
 */
export function checkWeight(root, tell) {
  const folder = mkdtempSync(join(tmpdir(), 'samekey-weight-'));
  try {
    /** @type {Problem[]} */
    const problems = [];
    for (const [name, budget] of Object.entries(WEIGHTS)) {
      const packed = packFolder(root, name, folder);
      const files = walkFiles(packed).concat(walkFiles(packed, 'dist'));
      const bytes = files.reduce((sum, file) => sum + statSync(join(packed, file)).size, 0);
      const found = { files: files.length, kilobytes: Math.ceil(bytes / 1_000) };
      tell(`${name}: ${found.files} of ${budget.files} files, ${found.kilobytes} of ${budget.kilobytes} kB`);
      problems.push(...over(name, found, budget));
      if (!importedPackages(root).includes(name)) continue;
      for (const { name: entry, source } of readEntries(root, name)) {
        const weight = closureWeight(packed, source.replace(/^src/, 'dist').replace(/\.ts$/, '.js'));
        const allowed = CLOSURES[entry];
        if (allowed !== undefined)
          tell(
            `${entry}: ${weight.files} of ${allowed.files} files, ${weight.kilobytes} of ${allowed.kilobytes} kB`,
          );
        problems.push(...over(entry, weight, allowed));
      }
    }
    return problems;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (isMain(import.meta.url)) {
  for (const { file, maxBytes } of LIMITS)
    console.log(`${file}: ${await sizeOf(join(ROOT, file))} of ${maxBytes} bytes`);
  const weight = checkWeight(ROOT, (line) => console.log(line));
  report('size', [...(await checkSize(ROOT)), ...weight]);
}
