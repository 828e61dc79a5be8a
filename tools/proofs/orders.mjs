/**
 * Why: the way that is recommended for one write in the caller's database, in the form of one commit
 * (`reserve: 'in-transaction'`), beside processes that still reserve before. 4 API processes on PostgreSQL; at each stop
 * of an order a process is killed with SIGKILL or frozen, the database is killed, or many ask at once, at each isolation.
 * In the end each key has one line and one answer, and another request under it is refused.
 */
import { startGolden } from '../../packages/samekey/test/processes/.out/processes/golden-cluster.js';
import {
  orderRound,
  orderRoundOf,
} from '../../packages/samekey/test/processes/.out/processes/order-round.js';
import { anyPostgres, startPostgres } from '../../packages/samekey/test/processes/.out/services/postgres.js';
import { roundsOf } from './rounds.mjs';

export const name = 'orders';

export const stores = ['postgres'];

/** In pieces, so that each core has an installation of its own. */
export const piece = 100;
export const rounds = 1_000;

const ISOLATIONS = /** @type {const} */ (['read committed', 'repeatable read', 'serializable']);

/** @param {import('./rounds.mjs').StoreProofOptions} options */
export async function run(options) {
  const source = anyPostgres();
  if (source === undefined) throw new Error('This machine has no PostgreSQL.');
  const server = await startPostgres(source, {}, 'disk');
  try {
    const isolation =
      ISOLATIONS[Math.floor((options.seed ?? 0) / piece) % ISOLATIONS.length] ?? 'read committed';
    const golden = await startGolden({ server, apis: 4, workers: 0, isolation });
    const sums = { keys: 0, struck: 0 };
    try {
      return await roundsOf(options, { rounds: piece }, async (seed) => {
        const { failures, keys, struck } = await orderRound(golden, orderRoundOf(seed));
        sums.keys += keys;
        sums.struck += struck;
        return { failures, note: `${isolation} ${JSON.stringify(sums)}` };
      });
    } finally {
      await golden.close();
    }
  } finally {
    await server.stop();
  }
}
