/**
 * Plays one version of a story to its end. The same choice gives the same run, in every browser and in Node: all
 * that moves is virtual time, and all that is drawn follows from the seed.
 */

import { turn } from '@samekey/testing/world';
import type { Fault, Trace } from './trace.ts';
import { harmsOf, verdictOf } from './judge.ts';
import type { KnobValues, Scenario } from './story.ts';
import { openStage } from './stage.ts';

/** What to play. */
export interface Choice {
  readonly scenario: Scenario;
  readonly variant: string;
  readonly seed: number;
  /** Those left out have their usual value. */
  readonly knobs?: KnobValues;
  /** Placed by the reader; default none. */
  readonly faults?: readonly Fault[];
}

const EVENTS_MAX = 5_000;

/** Plays it. */
export async function play({ scenario, variant, seed, knobs = {}, faults = [] }: Choice): Promise<Trace> {
  // Before anything is on stage: in virtual time nothing is ever loaded.
  const tell = typeof scenario.run === 'function' ? scenario.run : await scenario.run.load();
  const stage = openStage(scenario.lanes, seed, faults);
  const usual = Object.fromEntries(scenario.knobs.map((knob) => [knob.id, knob.usual]));
  const run: { state: 'on' | 'over'; failure: unknown } = { state: 'on', failure: null };
  const end = (failure: unknown): void => {
    run.state = 'over';
    run.failure = failure;
  };
  tell(stage, variant, { ...usual, ...knobs }).then(() => end(null), end);
  await turn();
  for (let events = 0; run.state === 'on'; events += 1) {
    if (events > EVENTS_MAX || !stage.timeline.step())
      throw new Error(`${scenario.id}, ${variant}, seed ${seed} does not end`);
    await turn();
  }
  if (run.failure !== null) throw run.failure;
  const { recorder, intents, books } = stage;
  const harms = harmsOf(intents, books.charges);
  return {
    scenario: scenario.id,
    variant,
    seed,
    lanes: scenario.lanes,
    steps: recorder.steps,
    messages: recorder.messages,
    harms,
    placed: faults,
    unmet: stage.ways.unmet,
    verdict: verdictOf(harms, intents, books.charges),
  };
}
