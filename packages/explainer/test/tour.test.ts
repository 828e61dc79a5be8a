/** The story in sixty seconds. */

import { describe, expect, it } from 'vitest';
import { play } from '../src/model/index.ts';
import { keySteps, TOUR, TOUR_STEP_MS } from '../src/view/tour.ts';

describe('the tour', () => {
  it('takes a minute, and ends each scene with the harm that it tells', async () => {
    let shown = 0;
    for (const { scenario, variant, seed, knobs } of TOUR) {
      const trace = await play({ scenario, variant, seed, knobs });
      const steps = keySteps(trace);
      expect(trace.harms).toHaveLength(1);
      expect(steps[0]).toBe(0);
      expect(steps.at(-1)).toBe(trace.steps.length - 1);
      shown += steps.length;
    }
    expect((shown * TOUR_STEP_MS) / 1_000).toBeGreaterThan(45);
    expect((shown * TOUR_STEP_MS) / 1_000).toBeLessThanOrEqual(60);
  });
});
