/**
 * Why: an outcome that nobody knows is found out by asking a provider that is slow, fails, and says "no such payment" while the call is
 * under way. Each round is one seeded history in virtual time: processes that pay, die and stand still before their calls, clients
 * that ask again, two reconcilers that die and stand still too, webhooks that come twice, late and early. In the end each key is paid
 * once at most, a payment that was made is what its record says, and every record is settled or left to an operator.
 */
import { reconcileHistory } from '../../packages/samekey/test/processes/.out/processes/reconcile-history.js';

export const name = 'reconcile';

export const rounds = 10_000;
export const piece = 500;

/** Histories that share the turns of one event loop. */
const SIDE_BY_SIDE = 32;

/** @param {import('./rounds.mjs').ProofOptions} options */
export async function run({
  seed = 0,
  rounds: most = piece,
  seconds = Number.POSITIVE_INFINITY,
  log = () => undefined,
}) {
  const endsAt = performance.now() + seconds * 1000;
  /** @type {string[]} */
  const failures = [];
  let next = seed;
  let done = 0;
  const lane = async () => {
    while (next < seed + most && performance.now() < endsAt) {
      const own = next;
      next += 1;
      const history = await reconcileHistory(own);
      done += 1;
      for (const failure of history.failures) {
        failures.push(failure);
        log(`FAILED ${failure}`);
      }
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane));
  return { rounds: done, failures };
}
