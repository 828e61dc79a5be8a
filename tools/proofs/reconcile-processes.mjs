/**
 * Why: virtual time shows what may happen; this, that it does on PostgreSQL: payer processes killed and frozen right at their calls, a
 * provider that fails, two reconciler processes killed and frozen for longer than their leases, webhooks told twice at one moment.
 */
import { reconcileRound } from '../../packages/samekey/test/processes/.out/processes/reconcile-round.js';
import { anyPostgres, startPostgres } from '../../packages/samekey/test/processes/.out/services/postgres.js';
import { roundsOf } from './rounds.mjs';

export const name = 'reconcile-processes';

export const stores = ['postgres'];

export const rounds = 20;
export const piece = 10;

/** @param {import('./rounds.mjs').StoreProofOptions} options */
export async function run(options) {
  const source = anyPostgres();
  if (source === undefined) throw new Error('This machine has no PostgreSQL.');
  const server = await startPostgres(source, {}, 'disk');
  /** @type {Record<string, number>} */
  const sums = {};
  try {
    return await roundsOf(options, { rounds: piece }, async (seed) => {
      const { failures, counts } = await reconcileRound(server, seed);
      for (const [what, count] of Object.entries(counts)) sums[what] = (sums[what] ?? 0) + count;
      return { failures, note: JSON.stringify(sums) };
    });
  } finally {
    await server.stop();
  }
}
