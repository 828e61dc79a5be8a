/**
 * Why: tests are believed because they fail when the code is wrong. Each round plants one edit that makes it wrong (a fence dropped,
 * a bound off by one, two writes swapped) and runs the tests that must fail on it. An edit that no test sees is a survivor, and
 * one that no longer fits the code is a failure too, because nobody knows what it would show.
 *
 *   npm run prove -- --only mutants                      all of them
 *   npm run prove -- --only mutants --seed 7 --rounds 1  the seventh; a failure names its seed
 *   node tools/proofs/mutants.mjs [part of a name …]     some by name, and what killed them
 */
import { misfits } from './mutants/mutant.mjs';
import { AREAS, MUTANTS } from './mutants/index.mjs';
import { readFile, tryMutant } from './mutants/try-mutant.mjs';
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

if (isMain(import.meta.url)) {
  const parts = process.argv.slice(2);
  for (const { message } of misfits(MUTANTS, readFile)) console.log(`FAILED ${message}`);
  for (const area of AREAS) {
    for (const mutant of area.mutants) {
      if (!parts.some((part) => part === area.name || mutant.name.includes(part))) continue;
      const wrong = await faultOf(mutant, console.log);
      if (wrong !== undefined) console.log(`FAILED ${mutant.name}: ${wrong}`);
    }
  }
}
