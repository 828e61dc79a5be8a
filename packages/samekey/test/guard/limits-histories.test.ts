/**
 * Random histories of three processes under limits, on a store whose replies get lost: no key that has a record is ever answered
 * 429, and no more keys run than the limit lets in.
 */

import { RateLimiterMemory } from 'rate-limiter-flexible';
import { createLimits } from 'samekey/guard';
import { memoryStore } from 'samekey/stores/memory';
import { expect, it } from 'vitest';
import { createSamekey } from '../../src/samekey.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';
import { faultyStore } from '../../../testing/src/faulty-store.ts';
import { createRandom } from '../../../testing/src/random.ts';

const HISTORIES = 150;
const POINTS = 6;
const KEYS = 12;
const FAULTS = ['refuse', 'loseRequest', 'loseReply', 'busy'] as const;
const first = Number(process.env['SAMEKEY_TEST_SEED'] ?? 1);

async function history(seed: number): Promise<void> {
  const random = createRandom(seed);
  const world = fakeWorld({ seed });
  const memory = memoryStore({ now: () => world.wallNow() });
  // Other processes meet no flight of this one: each has an engine, all share limiter and store.
  const newKeys = new RateLimiterMemory({ points: POINTS, duration: 3_600 });
  const limits = createLimits({ newKeys });
  const processes = Array.from({ length: 3 }, () => {
    const store = faultyStore(memory, { timers: world });
    return { store, samekey: createSamekey({ store, world, policy: 'standard', limits, saveTimeMaxMs: 50 }) };
  });
  const runs = new Map<string, number>();
  let lost = 0;
  for (let round = 0; round < 25; round += 1) {
    const asked = Array.from({ length: random.between(1, 4) }, async () => {
      const process = random.pick(processes);
      const key = `k${random.between(1, KEYS)}`;
      if (random.chance(0.15)) {
        const [fault, times] = [random.pick(FAULTS), random.between(1, 2)];
        process.store.inject(fault, { times });
        if (fault === 'loseReply') lost += times;
      }
      const known = (await memory.find([{ scope: 'acme|order', key }]))[0] !== null;
      const outcome = await process.samekey
        .run({ operation: 'order', scope: ['acme'], key, fingerprint: null }, (attempt) => {
          runs.set(key, (runs.get(key) ?? 0) + 1);
          if (random.chance(0.2)) attempt.notExecuted();
          return key;
        })
        .then(({ kind }) => kind);
      if (known) expect([seed, key, outcome]).not.toEqual([seed, key, 'limited']);
    });
    const all = Promise.all(asked);
    for (let waited = 0; waited < 40; waited += 1) await world.advance(100);
    await all;
  }
  const records = await memory.list({ limit: 1_000 });
  for (const key of runs.keys()) expect(records.some((record) => record.key === key)).toBe(true);
  // A claim whose reply was lost gave its point back, and may have made its record all the same.
  expect(runs.size).toBeLessThanOrEqual(POINTS + lost);
  expect(runs.size).toBeGreaterThan(0);
}

it(`over ${HISTORIES} random histories no known key is limited (seeds from ${first})`, async () => {
  for (let seed = first; seed < first + HISTORIES; seed += 1) await history(seed);
});
