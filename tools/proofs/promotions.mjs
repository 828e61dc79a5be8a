/**
 * Why: the failure that a database is run in pairs for must not cost an answer. The primary is killed with -9 under load, its
 * synchronous standby (MariaDB: a semi-synchronous replica) is promoted, and nothing acknowledged is lost, nothing runs twice. Each round has
 * two servers of its own.
 */
import { promotionRound } from '../../packages/samekey/test/processes/.out/processes/api-promotions.js';
import { roundsOf } from './rounds.mjs';

export const name = 'promotions';

/** What takes over in this way. */
export const stores = ['postgres', 'mysql'];

/** @param {import('./rounds.mjs').StoreProofOptions} options */
export async function run(options) {
  const sums = { keys: 0, retried: 0, awayMsMax: 0 };
  return roundsOf(options, { rounds: 30 }, async (seed) => {
    const result = await promotionRound({
      seed,
      store: options.store === 'mysql' ? 'mysql' : 'postgres',
      medium: 'disk',
    });
    sums.keys += result.keys;
    sums.retried += result.retried;
    sums.awayMsMax = Math.max(sums.awayMsMax, Math.round(result.awayMs));
    return { failures: result.failures, note: JSON.stringify(sums) };
  });
}
