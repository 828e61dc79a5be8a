/**
 * Why: tests are believed because they fail when the code is wrong. Each round plants one edit that makes it wrong (a fence dropped,
 * a bound off by one, two writes swapped) and runs the tests that must fail on it. An edit that no test sees is a survivor, and
 * one that no longer fits the code is a failure too, because nobody knows what it would show.
 *
 *   npm run prove -- --only mutants                      all of them
 *   npm run prove -- --only mutants --seed 7 --rounds 1  the seventh; a failure names its seed
 *   node tools/proofs/mutants.mjs [part of a name …]     some by name or area, and what killed them
 *   node tools/proofs/mutants.mjs --draw 6 [--seed 7]    a few of the quick ones, as in CI; without a seed one of the day
 */
import { parseArgs } from 'node:util';
import { AREAS, MUTANTS } from './mutants/index.mjs';
import { tryMutant } from './mutants/try-mutant.mjs';
import { isMain } from '../lib/report.mjs';

export const name = 'mutants';

export const rounds = MUTANTS.length;
/** Neighbours share their tests, which have to pass without an edit first. */
export const piece = 12;

/**
 * @param {import('./rounds.mjs').ProofOptions} options
 */
export async function run({
  seed = 1,
  rounds: most = piece,
  seconds = Number.POSITIVE_INFINITY,
  log = () => undefined,
}) {
  const endsAt = performance.now() + seconds * 1000;
  /** @type {string[]} */
  const failures = [];
  let done = 0;
  for (let at = seed; at < seed + most && performance.now() < endsAt; at += 1) {
    // Seeds are counted from 1, and beyond the last one from the first again.
    const mutant = MUTANTS[(at + MUTANTS.length - 1) % MUTANTS.length];
    if (mutant === undefined) break;
    done += 1;
    const wrong = await faultOf(mutant, log);
    if (wrong === undefined) continue;
    const failure = `mutant "${mutant.name}" (seed ${at}): ${wrong}`;
    failures.push(failure);
    log(`FAILED ${failure}`);
  }
  return { rounds: done, failures };
}

/** @param {import('./mutants/mutant.mjs').Mutant} mutant @param {(line: string) => void} log */
async function faultOf(mutant, log) {
  const end = await tryMutant(mutant);
  if ('fault' in end) return end.fault;
  if ('killed' in end) {
    log(`killed    ${mutant.name}: ${end.killed}`);
    return mutant.equivalent === undefined ? undefined : 'it is called equivalent, and a test fails on it';
  }
  if (mutant.equivalent === undefined) return `SURVIVED: ${mutant.breaks} ${end.survived}`;
  log(`harmless  ${mutant.name}: ${mutant.equivalent}`);
  return undefined;
}

/** Their tests start no server and no process. */
const isQuick = (/** @type {import('./mutants/mutant.mjs').Mutant} */ { tests, equivalent }) =>
  equivalent === undefined &&
  tests.every((file) => /^(?:core|fingerprint|store|engine|ways|http|http-node|reconcile)\//u.test(file)) &&
  !/stores|contracts/u.test(tests.join());

/**
 * So many of the quick ones, by a seed.
 * @param {number} count
 * @param {number} seed
 */
export function draw(count, seed) {
  const left = MUTANTS.filter(isQuick);
  let state = seed >>> 0;
  const next = () => {
    // Mulberry32: a seed gives the same draw on every machine.
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return Array.from({ length: Math.min(count, left.length) }, () =>
    left.splice(Math.floor(next() * left.length), 1),
  ).flat();
}

/** @param {string[]} args */
async function main(args) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { draw: { type: 'string' }, seed: { type: 'string' } },
  });
  const seed = Number(values.seed ?? process.env['SAMEKEY_SEED'] ?? Date.now() % 1_000_000);
  if (values.draw !== undefined) console.log(`mutants: --seed ${seed}`);
  const asked =
    values.draw === undefined
      ? AREAS.flatMap(({ name: area, mutants }) =>
          mutants.filter((one) => positionals.some((part) => part === area || one.name.includes(part))),
        )
      : draw(Number(values.draw), seed);
  let failed = 0;
  for (const mutant of asked) {
    const wrong = await faultOf(mutant, console.log);
    if (wrong === undefined) continue;
    failed += 1;
    console.log(`FAILED ${mutant.name}: ${wrong}`);
  }
  console.log(`mutants: ${asked.length} planted, ${failed} failed`);
  return asked.length > 0 && failed === 0 ? 0 : 1;
}

if (isMain(import.meta.url)) process.exitCode = await main(process.argv.slice(2));
