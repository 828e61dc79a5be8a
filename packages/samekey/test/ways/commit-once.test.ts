/** Whether a record shows that a transaction was committed: the one whose answer to COMMIT was lost, or that a library did not look at. */

import { expect, it } from 'vitest';
import type { RunningAttempt } from '../../src/engine/attempt.ts';
import { type CommitPlan, isThere } from '../../src/ways/commit-once.ts';
import type { SamekeyRecord } from '../../src/core/record.ts';

const FENCE = { claimId: 'claim-1', attempt: 1 };
const OWN = { ...FENCE, state: 'completed' } as SamekeyRecord;
const plan: CommitPlan<unknown, null> = {
  body: async () => null,
  isThere: ({ state }) => state === 'completed',
};

it.each<[string, SamekeyRecord | null, boolean]>([
  ['its own, ended', OWN, true],
  ['its own, not ended', { ...OWN, state: 'in_progress' }, false],
  ['of another attempt', { ...OWN, attempt: 2 }, false],
  ['of another life of the key', { ...OWN, claimId: 'claim-2' }, false],
  ['none', null, false],
])('of a record that is %s', (_what, record, expected) => {
  expect(isThere({ fence: FENCE } as RunningAttempt, plan, record, null)).toBe(expected);
});
