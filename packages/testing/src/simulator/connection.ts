/**
 * How a simulated process's calls travel to the store and back: quick as a rule, and with every fault there is while faults
 * last. Lateness is bounded, as statements are by their time-outs at the store.
 */

import { type FaultKind, type Passage, passageOf } from '../faulty-store.ts';
import type { Random } from '../random.ts';
import { type Context, shown } from './context.ts';
import { type FaultRates, LATENESS_MAX_MS } from './scenario.ts';

/** What a passage is drawn from. */
export interface PassageContext extends Pick<Context, 'random' | 'calm' | 'trace'> {
  readonly scenario: { readonly rates: Pick<FaultRates, 'store'> };
}

const WEIGHTS: Readonly<Record<FaultKind, number>> = {
  refuse: 2,
  busy: 1,
  loseRequest: 2,
  loseReply: 4,
  late: 3,
  twice: 2,
  slow: 2,
  // Engines with some rows held are seen in the engine contract.
  someBusy: 0,
};

/** Draws one passage. */
export function drawPassage(
  context: PassageContext,
  name: string,
  call: { readonly verb: string; readonly requests: readonly unknown[] },
): Passage {
  const { random, scenario, calm } = context;
  const there = random.between(0, 6);
  const back = random.between(0, 6);
  if (calm || !random.chance(scenario.rates.store))
    return { arriveAfterMs: [there], answer: 'reply', answerAfterMs: back };
  const fault = random.weighted(WEIGHTS);
  context.trace(null, () => `${name} ${call.verb} meets ${fault}: ${shown(call.requests)}`);
  const passage = passageOf(fault, { byMs: lateness(random), silent: random.chance(0.5) });
  return {
    arriveAfterMs: passage.arriveAfterMs.map((ms) => ms + there),
    answer: passage.answer,
    // An error comes at once, or after a while in which the caller waited.
    answerAfterMs: there + back + (random.chance(0.2) ? random.between(0, 190) : 0),
  };
}

/** Mostly within a call's time, else anything up to the bound. */
function lateness(random: Random): number {
  return random.chance(0.6) ? random.between(10, 400) : random.between(0, LATENESS_MAX_MS);
}
