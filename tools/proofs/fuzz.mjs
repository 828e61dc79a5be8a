/**
 * Why: an answer that differs with Samekey in front of its handler, or that a retry gets otherwise, is found by what nobody
 * thought of. A round plays an answer drawn from its seed at a server of the framework and at the same one with the door, to the
 * byte, and asks again; or sends drawn bytes as requests to both. Doors are TypeScript that Node 20 does not run, so the rounds are played by their test file.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildFolder } from '../lib/files.mjs';
import { ROOT } from '../lib/report.mjs';
import { binOf, run as runProgram } from '../lib/run.mjs';

export const name = 'fuzz';

/** Each of them is proven by itself: `fuzz:express`, or `--door express`. */
export const doors = [
  'node',
  'node-middleware',
  'express',
  'express4',
  'koa',
  'koa2',
  'nest-express',
  'nest-fastify',
  'fastify',
  'lambda',
  'fetch',
  'next',
  'hono-fetch',
  'hono',
];

const FILE = 'packages/samekey/test/fuzz/fuzz.test.ts';

/** @param {import('./rounds.mjs').ProofOptions & { door?: string }} options */
export async function run({
  door = 'node',
  seed = 1,
  rounds: most = 20_000,
  seconds,
  log = () => undefined,
}) {
  const folder = mkdtempSync(join(buildFolder(ROOT, 'fuzz'), 'run-'));
  const out = join(folder, 'pieces');
  writeFileSync(out, '');
  try {
    const asked = { door, seed, rounds: most, seconds: seconds ?? null, out };
    const env = { ...process.env, SAMEKEY_FUZZ: JSON.stringify(asked) };
    const { code, output } = await runProgram(process.execPath, [binOf('vitest'), 'run', FILE], {
      cwd: ROOT,
      env,
    });
    const lines = readFileSync(out, 'utf8').split('\n').filter(Boolean);
    /** @type {{ kind: string, rounds: number, faults: string[] }[]} */
    const pieces = lines.map((line) => JSON.parse(line));
    const failures = pieces.flatMap(({ faults }) => faults);
    if (code !== 0) failures.push(`the run ended with ${code}: ${output.slice(-2_000)}`);
    for (const failure of failures) log(`FAILED ${failure}`);
    for (const kind of new Set(pieces.map((piece) => piece.kind))) {
      const count = pieces
        .filter((piece) => piece.kind === kind)
        .reduce((sum, piece) => sum + piece.rounds, 0);
      log(`${door}: ${count} rounds of "${kind}"`);
    }
    return { rounds: pieces.reduce((sum, piece) => sum + piece.rounds, 0), failures };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
