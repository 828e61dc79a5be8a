/**
 * Why: what people do to pages that pay (reload, double click, two tabs, offline, back) is where second payments come from, and
 * only a real browser has real tabs, storage and locks. Each round is one habit with faults from its seed; one execution each.
 */
import { startBrowser } from '../../packages/samekey/test/processes/.out/processes/browser-round.js';
import { chromiumProgram } from '../../packages/samekey/test/processes/.out/services/chromium.js';
import { roundsOf } from './rounds.mjs';

export const name = 'browser';

/** @param {import('./rounds.mjs').ProofOptions} options */
export async function run(options) {
  const program = chromiumProgram();
  if (program === undefined) return { rounds: 0, failures: [] };
  const bench = await startBrowser(program);
  try {
    return await roundsOf(options, { rounds: 200 }, (seed) => bench.round({ seed }));
  } finally {
    await bench.close();
  }
}
