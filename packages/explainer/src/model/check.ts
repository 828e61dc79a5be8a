/**
 * Holds a version to what its story tells, seed by seed: a sound one never does harm, however its knobs are
 * turned, and a broken one does the harm that is told of it. For tests and for the long run.
 */

import { createRandom } from '@samekey/testing/world';
import { FAULT_KINDS, faultAt, FAULTS_MAX, faultsText } from './placed-faults.ts';
import { type Choice, play } from './play.ts';
import type { KnobValues, Scenario, Variant } from './story.ts';
import type { Fault, Trace } from './trace.ts';

/** What a run of a seed has shown. */
interface Checked {
  /** Null: as it must be. */
  readonly fault: string | null;
  /** Whether a broken version did its harm. */
  readonly didHarm: boolean;
}

/** Plays one version with one seed. */
export async function check(scenario: Scenario, variant: Variant, seed: number): Promise<Checked> {
  const { breaks } = variant;
  const knobs = breaks === null ? drawnKnobs(scenario, seed) : {};
  const run = { scenario, variant: variant.id, seed, knobs };
  const faults = breaks === null ? await drawnFaults(run) : (breaks.faults ?? []);
  const trace = await play({ ...run, faults });
  const where = `${scenario.id}/${variant.id}/${seed} ${JSON.stringify(knobs)} ${faultsText(faults)}`;
  const untidy = untidyOf(trace);
  if (untidy !== null) return { fault: `${where}: ${untidy}`, didHarm: false };
  const { harms } = trace;
  if (breaks === null)
    return { fault: harms.length === 0 ? null : `${where}: ${harms.join(', ')}`, didHarm: false };
  const other = harms.find((harm) => harm !== breaks.harm);
  return {
    fault: other === undefined ? null : `${where}: ${other}, and its story tells of ${breaks.harm}`,
    didHarm: harms.includes(breaks.harm),
  };
}

/** Every third seed has them as usual. */
function drawnKnobs({ knobs }: Scenario, seed: number): KnobValues {
  if (seed % 3 === 0) return {};
  const random = createRandom(seed);
  return Object.fromEntries(
    knobs.map(({ id, least, most, by }) => [
      id,
      least + by * random.between(0, Math.floor((most - least) / by)),
    ]),
  );
}

/** As a reader places them: in a run that he has seen, one after the other, wherever he likes. */
async function drawnFaults(run: Choice): Promise<readonly Fault[]> {
  const faults: Fault[] = [];
  if (run.scenario.takesFaults !== true) return faults;
  const random = createRandom(run.seed);
  for (let left = random.between(0, FAULTS_MAX); left > 0; left -= 1) {
    const { messages } = await play({ ...run, faults });
    // Early ones more often: most of a run is the app asking again.
    const most = random.chance(0.5) ? Math.min(12, messages.length) : messages.length;
    const message = messages[random.between(0, most - 1)];
    const kind = FAULT_KINDS[random.between(0, FAULT_KINDS.length - 1)];
    if (message !== undefined && kind !== undefined) faults.push(faultAt(messages, message.n, kind));
  }
  return faults;
}

/** What no run may show: time that goes back, arrows that end before they begin, money that comes back. */
function untidyOf({ steps, messages }: Trace): string | null {
  for (const [i, step] of steps.entries()) {
    const before = steps[i - 1];
    if (step.n !== i) return `step ${i} is numbered ${step.n}`;
    if (before !== undefined && step.at < before.at) return `time goes back in step ${i}`;
    if (before !== undefined && step.takenCents < before.takenCents) return `money comes back in step ${i}`;
    if (step.caption === '') return `step ${i} says nothing`;
  }
  for (const { n, sentIn, endedIn } of messages) {
    if (endedIn !== null && endedIn <= sentIn) return `message ${n} ends before it begins`;
  }
  return null;
}
