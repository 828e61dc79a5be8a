/**
 * Why: a process may die on any line. At each named probe point one is killed with SIGKILL while clients send and retry several
 * keys: what was acknowledged is kept byte for byte, nothing runs twice, no key is stuck, and what nobody knows is
 * `unknown` until it is settled.
 */
import { startCluster } from '../../packages/samekey/test/processes/.out/api-cluster.js';
import { killOptionsOf, killRound } from '../../packages/samekey/test/processes/.out/api-kills.js';
import { roundsOf } from './rounds.mjs';

export const name = 'kills';

/** Three renewals of a claim fit a busy machine; most of a round is waiting for one claim to end. */
const CLAIM_TTL_MS = 900;

/** @param {import('./rounds.mjs').ProofOptions} options */
export async function run(options) {
  const cluster = await startCluster({ size: 3, claimTtlMs: CLAIM_TTL_MS });
  const sums = { keys: 0, unknown: 0, resumed: 0 };
  try {
    return await roundsOf(options, { rounds: 1_000 }, async (seed) => {
      const result = await killRound(cluster, killOptionsOf(seed));
      sums.keys += result.keys;
      sums.unknown += result.unknown;
      sums.resumed += result.resumed;
      return { failures: result.failures, note: JSON.stringify(sums) };
    });
  } finally {
    await cluster.close();
  }
}
