/**
 * Why: two processes that both believe they may run a handler is the fault this project exists to prevent. 100 equal requests
 * at one moment against 4 processes on one SQLite file (F11), with another body (F12) and another tenant (F25) among them,
 * must give one execution a key and only legal answers; with and without waiting.
 */
import { startCluster } from '../../packages/samekey/test/processes/.out/api-cluster.js';
import { raceRound } from '../../packages/samekey/test/processes/.out/api-races.js';
import { roundsOf } from './rounds.mjs';

export const name = 'races';

const CLAIM_TTL_MS = 5_000;

/** @param {import('./rounds.mjs').ProofOptions} options */
export async function run(options) {
  const cluster = await startCluster({ size: 4, claimTtlMs: CLAIM_TTL_MS });
  /** @type {Record<string, number>} */
  const statuses = {};
  try {
    return await roundsOf(options, { rounds: 200 }, async (seed) => {
      const result = await raceRound(cluster, { seed, wait: seed % 2 === 1 });
      for (const [status, count] of Object.entries(result.statuses)) {
        statuses[status] = (statuses[status] ?? 0) + count;
      }
      return { failures: result.failures, note: JSON.stringify(statuses) };
    });
  } finally {
    await cluster.close();
  }
}
