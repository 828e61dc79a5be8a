/**
 * Why: the simulators' histories, of plain and of phased operations and of background work, are run, counted and told in one way. Each round is one seeded
 * history of a whole installation in virtual time, judged by the auditor; a failure prints the history of its key.
 */
import { describeFailure, replayCommand } from '../../packages/testing/dist/simulator/report.js';

/** Histories that share the turns of one event loop; more do not make it faster. */
const SIDE_BY_SIDE = 32;

/** Failures that are told at length; the rest by their seed. */
const TOLD_MAX = 3;

/** @typedef {import('../../packages/testing/dist/simulator/report.js').ReportedHistory} ReportedHistory */

/**
 * @param {import('./rounds.mjs').ProofOptions} options
 * @param {{ name: string, rounds: number, simulate: (options: { seed: number, trace?: boolean }) => Promise<ReportedHistory> }} proof
 */
export async function historiesOf(
  { seed = 0, rounds: most, seconds = Number.POSITIVE_INFINITY, log = () => undefined },
  { name, rounds, simulate },
) {
  // Errors are thrown by the thousand here, and nobody reads where.
  Error.stackTraceLimit = 0;
  const endsAt = performance.now() + seconds * 1000;
  /** @type {number[]} */
  const failed = [];
  let done = 0;
  let next = seed;
  const lane = async () => {
    while (next < seed + (most ?? rounds) && performance.now() < endsAt) {
      const own = next;
      next += 1;
      const { violations } = await simulate({ seed: own });
      done += 1;
      if (violations.length > 0) failed.push(own);
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane));
  failed.sort((a, b) => a - b);
  /** @type {string[]} */
  const failures = [];
  for (const [i, own] of failed.entries()) {
    const history = await simulate({ seed: own, trace: true });
    failures.push(
      i < TOLD_MAX
        ? describeFailure(history, replayCommand(own, name))
        : `seed ${own}: ${history.violations[0]?.what ?? 'gone on the second run'}`,
    );
  }
  for (const failure of failures) log(`FAILED ${failure}`);
  return { rounds: done, failures };
}
