/** Where things are on the stage: within it, and never ahead of the step that is shown. */

import { describe, expect, it } from 'vitest';
import { frameOf, statesUntil } from '../src/layout/index.ts';
import { play, SCENARIOS } from '../src/model/index.ts';

const WIDTHS = [280, 360, 900];
const RUNS = SCENARIOS.flatMap((scenario) =>
  scenario.variants.map(({ id }) => [`${scenario.id}, ${id}`, scenario, id] as const),
);

describe.each(RUNS)('the stage of %s', (_name, scenario, variant) => {
  it('holds everything at every step and at every width', async () => {
    const trace = await play({ scenario, variant, seed: 1 });
    for (const width of WIDTHS) {
      for (const { n } of trace.steps) {
        const { height, lanes, arrows, points } = frameOf(trace, n, width);
        for (const { x } of lanes) expect(x > 0 && x < width).toBe(true);
        for (const { x1, x2, y1, y2 } of arrows) {
          expect(Math.min(x1, x2) > 0 && Math.max(x1, x2) < width).toBe(true);
          expect(y1 <= y2 && y2 < height).toBe(true);
        }
        for (const { label, labelX } of arrows) {
          const half = label.length * 3.3;
          expect(labelX - half > 0 && labelX + half < width).toBe(true);
        }
        expect(points).toHaveLength(n + 1);
      }
    }
  });

  it('shows nothing of a later step, so that going back is what was seen before', async () => {
    const trace = await play({ scenario, variant, seed: 1 });
    for (const { n } of trace.steps) {
      const cut = { ...trace, steps: trace.steps.slice(0, n + 1) };
      const whole = frameOf(trace, n, 640);
      expect(frameOf({ ...cut, steps: trace.steps }, n, 640)).toEqual(whole);
      expect(whole.arrows.every(({ message }) => (trace.messages[message]?.sentIn ?? 99) <= n)).toBe(true);
      expect(
        whole.arrows
          .filter(({ end }) => end !== 'under-way')
          .every(({ message }) => (trace.messages[message]?.endedIn ?? 99) <= n),
      ).toBe(true);
    }
  });

  it('ends every message that was sent, but for what is under way when the run is over', async () => {
    const trace = await play({ scenario, variant, seed: 1 });
    const { arrows } = frameOf(trace, trace.steps.length - 1, 640);
    const open = arrows
      .filter(({ end }) => end === 'under-way')
      .map(({ message }) => trace.messages[message]);
    expect(
      open.every((message) => message?.endedIn === null || message?.endedIn === trace.steps.length),
    ).toBe(true);
  });
});

describe('the states of the row', () => {
  it('are lit up in the order in which it had them', async () => {
    const scenario = SCENARIOS.find(({ id }) => id === 'lost-answer');
    if (scenario === undefined) throw new Error('the story is gone');
    const trace = await play({ scenario, variant: 'samekey', seed: 1 });
    expect(statesUntil(trace, 0)).toEqual([]);
    expect(statesUntil(trace, trace.steps.length - 1)).toEqual(['completed', 'in_progress']);
  });
});
