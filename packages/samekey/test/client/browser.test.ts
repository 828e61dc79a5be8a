/** A slice of what users do in a real browser; the long run is `node tools/prove.mjs browser`. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BrowserBench, HABITS, startBrowser } from '../processes/browser-round.ts';
import { seedOf } from '../races/seed.ts';
import { chromiumProgram } from '../services/chromium.ts';

const program = chromiumProgram();

describe.runIf(program !== undefined)('in a browser', () => {
  const seed = seedOf('browser');
  let bench: BrowserBench;
  beforeAll(async () => {
    bench = await startBrowser(program ?? '');
  });
  afterAll(() => bench.close());

  // F17, F18, F23
  it.each(HABITS)('%s: one payment under one key, and the page is told', async (habit) => {
    for (let i = 0; i < 4; i += 1) {
      const { failures } = await bench.round({ seed: seed + i * HABITS.length, habit });
      expect(failures).toEqual([]);
    }
  });
});
