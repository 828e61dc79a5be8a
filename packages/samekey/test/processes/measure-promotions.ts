/**
 * Counts what a standby loses when it takes over under load: keys that were acknowledged and are forgotten, answers that differ, handlers that
 * ran twice. With a synchronous one it is nothing (`node tools/prove.mjs promotions`); what an asynchronous one loses is how far it is behind,
 * so that is given:
 *
 *   node packages/samekey/test/processes/.out/processes/measure-promotions.js mysql async 200 10
 *
 * Arguments: the store, `sync` or `async`, for how many milliseconds the standby has heard nothing when the primary dies (0: as it comes),
 * rounds, the first seed.
 */

import { promotionRound } from './api-promotions.ts';

const [, , store = 'mysql', how = 'async', behind = '0', rounds = '10', first = '1'] = process.argv;
if (store !== 'mysql' && store !== 'postgres') throw new Error(`${store} has no standby here.`);
const sums = { rounds: 0, roundsWithLosses: 0, keys: 0, losses: 0 };
for (let i = 0; i < Number(rounds); i += 1) {
  const { failures, keys } = await promotionRound({
    seed: Number(first) + i,
    store,
    synchronous: how === 'sync',
    ...(behind === '0' ? {} : { behindMs: Number(behind) }),
    medium: 'disk',
  });
  sums.rounds += 1;
  sums.keys += keys;
  sums.losses += failures.length;
  if (failures.length > 0) sums.roundsWithLosses += 1;
  console.log(failures[0] ?? 'nothing lost');
}
console.log(`${store} ${how}, ${behind} ms behind: ${JSON.stringify(sums)}`);
