/**
 * A variant of a store (another version of its server, another client, partitions, a pooler, a seal) shares nearly all of its code with the
 * one that holds the whole contract in every run. Of a variant's contract a run takes a part, drawn from a seed that is printed, and at least
 * one test of each group. `SAMEKEY_TEST_WHOLE=1` takes all.
 */

import { describe, it } from 'vitest';
import type { TestRunner } from '../../../testing/src/contract/context.ts';
import { createRandom } from '../../../testing/src/random.ts';
import { seedOf } from '../races/seed.ts';

/** The part of a variant's tests that a run takes. */
const SHARE = 0.2;

/** All tests, where they are of the store's first variant or all are asked for; else a part of them. */
export function partOf(variant: string, isFirst: boolean): TestRunner {
  if (isFirst || process.env['SAMEKEY_TEST_WHOLE'] === '1') return { describe, it };
  return drawnFrom({ describe, it }, seedOf(`part of the contract, ${variant}`), SHARE);
}

interface Drawn {
  readonly title: string;
  readonly body: () => Promise<void>;
}

/** A runner that passes a part of its tests on, drawn from the seed, and at least one of each group. */
export function drawnFrom(runner: TestRunner, seed: number, share: number): TestRunner {
  const random = createRandom(seed);
  let own: Drawn[] | null = null;
  return {
    describe: (title, body) =>
      runner.describe(title, () => {
        const around = own;
        const here: Drawn[] = [];
        own = here;
        try {
          body();
        } finally {
          own = around;
        }
        const taken = here.filter(() => random.chance(share));
        if (taken.length === 0 && here.length > 0) taken.push(random.pick(here));
        for (const test of taken) runner.it(test.title, test.body);
      }),
    it(title, body) {
      if (own === null) runner.it(title, body);
      else own.push({ title, body });
    },
  };
}
