/**
 * Why: the proofs on real processes differ in what a round does, not in how rounds are counted, bounded, told and replayed.
 * Round n of a run has the seed `seed + n`, so that `--seed <that> --rounds 1` runs it again.
 */

/**
 * @typedef {object} ProofOptions
 * @property {number} [seed] the seed of the first round; default 0
 * @property {number} [rounds] how many; default the proof's own
 * @property {number} [seconds] stop after this long, however many there were
 * @property {(line: string) => void} [log]
 */

/** @typedef {ProofOptions & { store?: string }} StoreProofOptions of a proof that runs over several stores; default sqlite */

/** Failures that are printed; a proof that fails often fails for one reason. */
const FAILURES_MAX = 50;

/**
 * @param {ProofOptions} options
 * @param {{ rounds: number }} defaults
 * @param {(seed: number) => Promise<{ failures: readonly string[], note: string }>} round
 * @returns {Promise<{ rounds: number, failures: string[] }>}
 */
export async function roundsOf(options, defaults, round) {
  const { seed: first = 0, rounds: most = defaults.rounds, seconds, log = () => undefined } = options;
  const endsAt = seconds === undefined ? Number.POSITIVE_INFINITY : performance.now() + seconds * 1000;
  /** @type {string[]} */
  const failures = [];
  let rounds = 0;
  while (rounds < most && performance.now() < endsAt && failures.length < FAILURES_MAX) {
    const { failures: found, note } = await round(first + rounds);
    rounds += 1;
    for (const failure of found) {
      failures.push(failure);
      log(`FAILED ${failure}`);
    }
    if (rounds % 20 === 0 || rounds === most) log(`${rounds} rounds, ${failures.length} failures ${note}`);
  }
  return { rounds, failures };
}
