/** How long keys are remembered, against how long clients retry (F55, F58). */

import { expect, it } from 'vitest';
import { memoryStore } from 'samekey/stores/memory';
import { createSamekey, type RunRequest } from '../../src/samekey.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';

const HOUR_MS = 3_600_000;

function setup() {
  const world = fakeWorld();
  const samekey = createSamekey({ store: memoryStore(), world, policy: 'standard' });
  const run = (more: Partial<RunRequest>) =>
    samekey.run({ operation: 'order', scope: ['acme'], key: 'a', fingerprint: null, ...more }, () => 'made');
  return { world, run };
}

// F55
it('a retention that is shorter than clients retry is warned of, once for each operation', async () => {
  const { world, run } = setup();
  for (let i = 0; i < 3; i += 1) await run({ key: `a-${i}`, retentionMs: HOUR_MS });
  await run({ operation: 'refund', retentionMs: HOUR_MS });
  expect(world.warnings.map((warning) => warning.split(':')[0])).toEqual([
    'retention-short',
    'retention-short',
  ]);
  expect(world.warnings[0]).toContain('"order"');
});

it('a retention that covers the retry window its operation declares is fine, however short', async () => {
  const { world, run } = setup();
  await run({});
  await run({ key: 'b', retentionMs: HOUR_MS, retryWindowMs: HOUR_MS });
  expect(world.warnings).toEqual([]);
});
