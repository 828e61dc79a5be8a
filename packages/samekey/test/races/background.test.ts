/**
 * Work in the background on real processes: APIs, workers and a reconciler killed and frozen at their probe points, two operators, webhooks,
 * a store that is killed; the long run is `node tools/prove.mjs background`.
 */

import { describe, expect, it } from 'vitest';
import { backgroundRound } from '../processes/background-round.ts';
import { backendOf } from '../processes/backends/index.ts';
import { seedOf } from './seed.ts';

for (const name of ['sqlite', 'postgres']) {
  const kind = await backendOf(name);
  describe.runIf(kind.isAvailable())(`background work on ${name}`, () => {
    const seed = seedOf(`background-${name}`);

    // F4, F57, F65, F142, F152
    it(`keeps the books equal and notes every act (seed ${seed})`, async () => {
      const backend = await kind.start();
      try {
        const { failures, counts } = await backgroundRound(backend, seed, 7);
        expect(failures).toEqual([]);
        expect(counts['rounds']).toBe(1);
      } finally {
        await backend.close();
      }
    }, 180_000);
  });
}
