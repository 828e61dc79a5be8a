/**
 * Why: a process may die on any line, and so may its store. At each named probe point a process is killed with SIGKILL, or frozen for
 * longer than its claim (F4), or its store is killed, frozen, cut off or robbed of a reply (F15, F44), while clients send and
 * retry several keys: what was acknowledged is kept byte for byte, nothing runs twice, no key is stuck, and what nobody
 * knows is `unknown` until it is settled.
 */
import { startCluster } from '../../packages/samekey/test/processes/.out/processes/api-cluster.js';
import {
  blowOf,
  killOptionsOf,
  killRound,
} from '../../packages/samekey/test/processes/.out/processes/api-kills.js';
import { onBackend } from './backend.mjs';
import { roundsOf } from './rounds.mjs';

export const name = 'kills';

/** Over each of them that the machine has. */
export const stores = [
  'sqlite',
  'postgres',
  'pgbouncer',
  'distributed',
  'citus',
  'mysql',
  'redis',
  'dynamodb',
  'tiered',
];

/** Three renewals of a claim fit a busy machine; most of a round is waiting for one claim to end. */
const CLAIM_TTL_MS = 900;

/** @param {import('./rounds.mjs').StoreProofOptions} options */
export function run(options) {
  return onBackend(options, { faulty: true, medium: 'disk' }, async (backend) => {
    const cluster = await startCluster({ backend, size: 3, claimTtlMs: CLAIM_TTL_MS });
    const sums = { keys: 0, unknown: 0, resumed: 0, overrun: 0 };
    /** @type {Record<string, number>} */
    const blows = {};
    try {
      return await roundsOf(options, { rounds: 1_000 }, async (seed) => {
        const blow = blowOf(cluster, seed);
        const result = await killRound(cluster, killOptionsOf(seed, blow));
        sums.keys += result.keys;
        sums.unknown += result.unknown;
        sums.resumed += result.resumed;
        sums.overrun += result.overrun;
        blows[blow] = (blows[blow] ?? 0) + 1;
        return { failures: result.failures, note: JSON.stringify({ ...sums, ...blows }) };
      });
    } finally {
      await cluster.close();
    }
  });
}
