/**
 * Why: what a browser must download is paid by every visitor, and it grows by imports that look harmless on the server. Bundles the
 * entries that browsers load, minified and compressed as a server would send them, and fails above their limit.
 */
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { PACKAGE } from './lib/entries.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';

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

if (isMain(import.meta.url)) {
  for (const { file, maxBytes } of LIMITS)
    console.log(`${file}: ${await sizeOf(join(ROOT, file))} of ${maxBytes} bytes`);
  report('size', await checkSize(ROOT));
}
