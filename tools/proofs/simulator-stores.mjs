/**
 * Why: the simulator judges engines over a store in memory, which is the state table itself. Here the same seeded histories run
 * over real stores, so that their statements are under the same faults: `simulator-sqlite` and `simulator-postgres`.
 */
import { simulate } from '../../packages/samekey/dist/testing/simulator.js';
import { describeFailure } from '../../packages/samekey/dist/testing/simulator/report.js';

/** @typedef {import('../../packages/samekey/test/processes/.out/services/simulator-lanes.js').Lane} Lane */

/** So many may be run by a process of their own: histories know nothing of each other. */
export const PIECE = 500;

/** Lanes of a process: while one history waits for its store, others go on. More do not make it faster on one core. */
const LANES = 6;

/** Failures that are told at length; the rest by their seed. */
const TOLD_MAX = 3;

/**
 * Runs histories on lanes, which stay open for the next piece.
 * @param {string} name @param {(n: number) => Promise<Lane>} open
 * @returns {(options: import('./rounds.mjs').ProofOptions) => Promise<{ rounds: number, failures: string[] }>}
 */
export function historiesOn(name, open) {
  /** @type {Promise<Lane[]> | undefined} */
  let opened;
  return async ({ seed = 0, rounds = PIECE, seconds = Number.POSITIVE_INFINITY, log = () => undefined }) => {
    // Errors are thrown by the thousand here, and nobody reads where.
    Error.stackTraceLimit = 0;
    opened ??= Promise.all(Array.from({ length: LANES }, (_, n) => open(n)));
    const lanes = await opened;
    const endsAt = performance.now() + seconds * 1000;
    /** @type {string[]} */
    const failures = [];
    let done = 0;
    let next = seed;
    const work = async (/** @type {Lane} */ { database }) => {
      while (next < seed + rounds && performance.now() < endsAt) {
        const own = next;
        next += 1;
        const { violations } = await simulate({ seed: own, database });
        done += 1;
        if (violations.length === 0) continue;
        const told = failures.length < TOLD_MAX;
        const history = await simulate({ seed: own, database, trace: told });
        const command = `npm run prove -- --only ${name} --seed ${own} --rounds 1`;
        const failure = told
          ? describeFailure(history, command)
          : `seed ${own}: ${violations[0]?.what ?? ''} (${command})`;
        failures.push(failure);
        log(`FAILED ${failure}`);
      }
    };
    await Promise.all(lanes.map(work));
    return { rounds: done, failures };
  };
}
