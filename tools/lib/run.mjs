/** Child processes: never with a shell's quoting, never with our stdin, and nothing they say is lost. */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ROOT } from './report.mjs';

/**
 * The path of a program that comes with an npm package of this repository.
 * @param {string} packageName
 * @param {string} [bin]
 */
export function binOf(packageName, bin = packageName) {
  // By path, not by import: most packages do not export their manifest.
  const manifestPath = join(ROOT, 'node_modules', packageName, 'package.json');
  const manifest = createRequire(import.meta.url)(manifestPath);
  const path = typeof manifest.bin === 'string' ? manifest.bin : manifest.bin[bin];
  return join(dirname(manifestPath), path);
}

/**
 * Runs a program to its end and gives back what it printed, both streams together.
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: Record<string, string | undefined> }} [options]
 * @returns {Promise<{ code: number, output: string }>}
 */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (output += text));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

/**
 * The TypeScript compiler.
 * @param {string[]} args
 * @param {{ cwd?: string }} [options]
 */
export function tsc(args, options = {}) {
  return run(process.execPath, [binOf('typescript', 'tsc'), '--pretty', 'false', ...args], options);
}
