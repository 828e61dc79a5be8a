/**
 * A slice of the histories of reconciliation (`npm run prove -- --only reconcile`): seeds drawn afresh each time and printed, and bugs
 * that must be found.
 */

import { describe, expect, it } from 'vitest';
import { type Planted, reconcileHistory } from '../processes/reconcile-history.ts';
import { seedOf } from '../races/seed.ts';

const SIDE_BY_SIDE = 16;

/** Runs histories from a seed on, until one fails or there have been so many; what they came to. */
async function histories(from: number, most: number, planted: Planted = {}) {
  const failures: string[] = [];
  const sums: Record<string, number> = {};
  let next = from;
  await Promise.all(
    Array.from({ length: SIDE_BY_SIDE }, async () => {
      while (next < from + most && failures.length === 0) {
        const history = await reconcileHistory(next++, planted);
        failures.push(...history.failures);
        for (const [what, count] of Object.entries(history.counts)) sums[what] = (sums[what] ?? 0) + count;
      }
    }),
  );
  return { failures, sums };
}

describe('histories of reconciliation', () => {
  const seed = seedOf('reconcile');

  // F20, F57, F61
  it(`pay once, lose nothing and come to an end (seed ${seed})`, async () => {
    const { failures, sums } = await histories(seed, 400);
    expect(failures).toEqual([]);
    // They came by what they are about.
    for (const met of [
      'lies',
      'killed',
      'frozen',
      'reconcile-failed',
      'reconcile-given-up',
      'webhook applied',
    ])
      expect(sums[met], met).toBeGreaterThan(0);
  });

  it.each<[string, Planted]>([
    ['"no such payment" is believed while the call may be under way', { callTimeMaxMs: 0 }],
    [
      'an owner that is not proven gone is believed to be, where the provider knows no keys',
      { keyless: true },
    ],
  ])('find out when %s', async (_bug, planted) => {
    expect((await histories(1, 1_000, planted)).failures).not.toEqual([]);
  });
});
