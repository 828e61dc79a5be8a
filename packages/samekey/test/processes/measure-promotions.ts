/**
 * Counts what an asynchronous standby loses when it takes over under load: keys that were acknowledged and are forgotten, answers that differ,
 * handlers that ran twice. With a synchronous one it is nothing (`node tools/prove.mjs promotions`); here it is measured, not proven:
 *
 *   node packages/samekey/test/processes/.out/processes/measure-promotions.js mysql 20
 */

import { promotionRound } from './api-promotions.ts';

const [, , store = 'mysql', rounds = '20', first = '1'] = process.argv;
if (store !== 'mysql' && store !== 'postgres') throw new Error(`${store} has no standby here.`);
const sums = { rounds: 0, roundsWithLosses: 0, keys: 0, losses: 0 };
for (let i = 0; i < Number(rounds); i += 1) {
  const seed = Number(first) + i;
  const { failures, keys } = await promotionRound({ seed, store, synchronous: false, medium: 'disk' });
  sums.rounds += 1;
  sums.keys += keys;
  sums.losses += failures.length;
  if (failures.length > 0) sums.roundsWithLosses += 1;
  for (const failure of failures) console.log(failure);
}
console.log(`${store}, asynchronous: ${JSON.stringify(sums)}`);
