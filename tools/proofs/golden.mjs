/**
 * Why: the promise is about money, on the whole path: a request, phases in the caller's transactions, calls to a provider between
 * them, an answer. 4 API processes and 2 workers on PostgreSQL or MariaDB; at each stop of the operation a process is killed with SIGKILL, and
 * whoever goes on, the next request, a worker, or both, is killed too; the provider is unkind and the database is killed now and
 * then. In the end each key has one charge, one capture, one row of each phase and one answer.
 */
import { startGolden } from '../../packages/samekey/test/processes/.out/processes/golden-cluster.js';
import {
  goldenRace,
  goldenRestart,
} from '../../packages/samekey/test/processes/.out/processes/golden-load.js';
import {
  goldenRound,
  goldenRoundOf,
} from '../../packages/samekey/test/processes/.out/processes/golden-round.js';
import { anyMysql } from '../../packages/samekey/test/processes/.out/processes/backends/mysql.js';
import { startMysql } from '../../packages/samekey/test/processes/.out/services/mysql.js';
import { anyPostgres, startPostgres } from '../../packages/samekey/test/processes/.out/services/postgres.js';
import { roundsOf } from './rounds.mjs';

export const name = 'golden';

export const stores = ['postgres', 'mysql'];

/** In pieces, so that each core has an installation of its own. */
export const piece = 100;
export const rounds = 1_000;

const ISOLATIONS = /** @type {const} */ (['read committed', 'repeatable read', 'serializable']);

/**
 * What happens now and then between two rounds: 50 equal payments at one moment; a rolling restart under load (F65).
 * @param {import('../../packages/samekey/test/processes/.out/processes/golden-cluster.js').Golden} golden
 * @param {number} seed
 */
async function besides(golden, seed) {
  if (seed % 50 === 49) return (await goldenRestart(golden, seed)).failures;
  if (seed % 10 === 9) return (await goldenRace(golden, seed)).failures;
  return [];
}

/** @param {string} store */
async function startServer(store) {
  const source = store === 'mysql' ? anyMysql() : anyPostgres();
  if (source === undefined) throw new Error(`This machine has no ${store}.`);
  // A kill leaves what was written to the system: MariaDB is quicker in memory, and shows the same.
  return 'programs' in source ? startMysql(source) : startPostgres(source, {}, 'disk');
}

/** @param {import('./rounds.mjs').StoreProofOptions} options */
export async function run(options) {
  const server = await startServer(options.store ?? 'postgres');
  try {
    const isolation =
      ISOLATIONS[Math.floor((options.seed ?? 0) / piece) % ISOLATIONS.length] ?? 'read committed';
    const golden = await startGolden({ server, apis: 4, workers: 2, isolation });
    const sums = { keys: 0, killed: 0, databaseKilled: 0, settled: 0 };
    try {
      return await roundsOf(options, { rounds: piece }, async (seed) => {
        const { failures: killed, ...counts } = await goldenRound(golden, goldenRoundOf(seed));
        const failures = [...killed, ...(await besides(golden, seed))];
        sums.keys += counts.keys;
        sums.killed += counts.killed;
        sums.databaseKilled += counts.databaseKilled;
        sums.settled += counts.settled;
        return { failures, note: `${isolation} ${JSON.stringify(sums)}` };
      });
    } finally {
      await golden.close();
    }
  } finally {
    await server.stop();
  }
}
