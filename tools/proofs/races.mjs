/**
 * Why: two processes that both believe they may run a handler is the fault this project exists to prevent. 100 equal requests
 * at one moment against 4 processes on one store (F11), with another body (F12) and another tenant (F25) among them,
 * must give one execution a key and only legal answers; with and without waiting.
 */
import { startCluster } from '../../packages/samekey/test/processes/.out/processes/api-cluster.js';
import { raceRound } from '../../packages/samekey/test/processes/.out/processes/api-races.js';
import { onBackend } from './backend.mjs';
import { roundsOf } from './rounds.mjs';

export const name = 'races';

/** Over each of them that the machine has. */
export const stores = [
  'sqlite',
  'postgres',
  'pgbouncer',
  'distributed',
  'citus',
  'mysql',
  'redis',
  'redis-cluster',
  'dynamodb',
  'tiered',
];

const CLAIM_TTL_MS = 5_000;

/** @param {import('./rounds.mjs').StoreProofOptions} options */
export function run(options) {
  return onBackend(options, {}, async (backend) => {
    const cluster = await startCluster({ backend, size: 4, claimTtlMs: CLAIM_TTL_MS });
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
  });
}
