/** Each story in each version, by its seed; the long run is `node tools/prove.mjs explainer`. */

import { describe, expect, it } from 'vitest';
import { check, play, SCENARIOS, type Scenario, type Trace, type Variant } from '../src/model/index.ts';

const SEEDS = 40;
const ALL: readonly (readonly [string, Scenario, Variant])[] = SCENARIOS.flatMap((scenario) =>
  scenario.variants.map((variant) => [`${scenario.id}, ${variant.id}`, scenario, variant] as const),
);

function seedsFrom(first: number): readonly number[] {
  return Array.from({ length: SEEDS }, (_, i) => first + i);
}

describe.each(ALL)('%s', (_name, scenario, variant) => {
  const choice = { scenario, variant: variant.id };

  it('shows on the first seed what it tells: its harm, or none', async () => {
    const { harms } = await play({ ...choice, seed: 1, faults: variant.breaks?.faults ?? [] });
    expect(harms).toEqual(variant.breaks === null ? [] : [variant.breaks.harm]);
  });

  it('does so on the share of seeds that it states', async () => {
    const runs = await Promise.all(seedsFrom(1).map((seed) => check(scenario, variant, seed)));
    expect(runs.map(({ fault }) => fault).filter((fault) => fault !== null)).toEqual([]);
    const harmed = runs.filter(({ didHarm }) => didHarm).length;
    expect(harmed).toBeGreaterThanOrEqual(SEEDS * (variant.breaks?.share ?? 0));
  });

  it('is the same run for the same seed, and another one for another seed', async () => {
    const [one, again, other] = await Promise.all([7, 7, 8].map((seed) => play({ ...choice, seed })));
    expect(again).toEqual(one);
    expect(other?.steps).not.toEqual(one?.steps);
  });
});

describe('every run', () => {
  it('begins with the customer and ends with a verdict', async () => {
    for (const [, scenario, variant] of ALL) {
      const { steps, verdict } = await play({ scenario, variant: variant.id, seed: 3 });
      expect(steps[0]).toMatchObject({ lane: 'client', at: 0 });
      expect(verdict).toMatch(/^Meant: €.*\. Taken: €/);
    }
  });

  it('sends messages only between lanes that stand on the stage', async () => {
    for (const [, scenario, variant] of ALL) {
      const lanes = new Set(scenario.lanes.map(({ id }) => id));
      const { steps, messages } = await play({ scenario, variant: variant.id, seed: 5 });
      for (const { from, to } of messages) expect([lanes.has(from), lanes.has(to)]).toEqual([true, true]);
      for (const { lane } of steps) expect(lanes.has(lane)).toBe(true);
    }
  });
});

describe('numbers that bite', () => {
  it.each([2, 3, 4, 5])(
    '%s attempts are as many charges without protection, and one with it',
    async (attempts) => {
      const scenario = SCENARIOS[0];
      const taken = async (variant: string): Promise<number | undefined> =>
        (await play({ scenario, variant, seed: 1, knobs: { attempts } })).steps.at(-1)?.takenCents;
      expect(await taken('no-protection')).toBe(attempts * 1_200);
      expect(await taken('new-key')).toBe(attempts * 1_200);
      expect(await taken('samekey')).toBe(1_200);
    },
  );

  it('stand beside a lane of their story, if they stand beside one', () => {
    for (const { knobs, lanes } of SCENARIOS)
      for (const { lane } of knobs) expect([undefined, ...lanes.map(({ id }) => id)]).toContain(lane);
  });
});

describe('tasks', () => {
  const tasks = SCENARIOS.flatMap((scenario) =>
    scenario.tasks.map((task) => [`${scenario.id}, ${task.id}`, scenario, task] as const),
  );

  it.each(tasks)(
    '%s: it can be done in the version that it names, and is not done at the first step',
    async (_name, scenario, task) => {
      const runs: Trace[] = [];
      const knob = scenario.knobs[0];
      const values = knob === undefined ? [undefined] : [knob.usual, knob.least, knob.most];
      for (const value of values) {
        const knobs = knob === undefined || value === undefined ? {} : { [knob.id]: value };
        const { variant, faults = [] } = task;
        runs.push(await play({ scenario, variant, seed: 1, knobs, faults }));
      }
      expect(runs.some((run) => task.isDone(run, 0))).toBe(false);
      expect(runs.some((run) => task.isDone(run, run.steps.length - 1))).toBe(true);
    },
  );

  it.each(tasks)('%s: whoever asks to be shown how sees it done', async (_name, scenario, task) => {
    const { variant, knobs = {}, faults = [] } = task;
    const run = await play({ scenario, variant, seed: 1, knobs, faults });
    expect(task.isDone(run, run.steps.length - 1)).toBe(true);
    for (const [id, value] of Object.entries(knobs)) {
      const knob = scenario.knobs.find((one) => one.id === id);
      expect(value).toBeGreaterThanOrEqual(knob?.least ?? Infinity);
      expect(value).toBeLessThanOrEqual(knob?.most ?? -Infinity);
    }
  });

  it('ask for a broken version first, and for the sound one last', () => {
    for (const { tasks: all, variants } of SCENARIOS) {
      const breaksOf = (id: string | undefined): unknown => variants.find((one) => one.id === id)?.breaks;
      expect(breaksOf(all[0]?.variant)).not.toBeNull();
      expect(breaksOf(all.at(-1)?.variant)).toBeNull();
      expect(variants.at(-1)?.breaks).toBeNull();
    }
  });
});
