/**
 * The address of a single step, as it stands behind the `#`: story, version, seed, step, the knobs that are not as
 * usual, and the faults that were placed. What does not fit is brought to the nearest that does, so that an old link
 * still leads somewhere.
 */

import {
  type Fault,
  faultsOf,
  faultsText,
  type Knob,
  type KnobValues,
  SCENARIOS,
  type Scenario,
} from '../model/index.ts';

/** What an address leads to. */
export interface Place {
  readonly scenario: Scenario;
  readonly variant: string;
  readonly seed: number;
  readonly step: number;
  readonly knobs: KnobValues;
  /** Placed by hand. */
  readonly faults: readonly Fault[];
}

/** Reads what stands behind the `#`. */
export function placeOf(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [id, wanted, seed, step] = path.split('/');
  const scenario = SCENARIOS.find((one) => one.id === id) ?? SCENARIOS[0];
  const variant = scenario.variants.find((one) => one.id === wanted) ?? scenario.variants[0];
  const given = new URLSearchParams(query);
  const knobs: Record<string, number> = {};
  for (const knob of scenario.knobs) {
    const value = Number(given.get(knob.id) ?? Number.NaN);
    if (Number.isFinite(value)) knobs[knob.id] = onScale(knob, value);
  }
  return {
    scenario,
    variant: variant?.id ?? '',
    seed: wholeNumber(seed, 1),
    step: wholeNumber(step, 0),
    knobs,
    faults: scenario.takesFaults === true ? faultsOf(given.get('faults') ?? '', scenario.lanes) : [],
  };
}

/** Writes it. */
export function addressOf({ scenario, variant, seed, step, knobs, faults }: Place): string {
  const query = new URLSearchParams();
  for (const { id, usual } of scenario.knobs) {
    const value = knobs[id];
    if (value !== undefined && value !== usual) query.set(id, String(value));
  }
  if (faults.length > 0) query.set('faults', faultsText(faults));
  const text = query.toString();
  return `#${scenario.id}/${variant}/${seed}/${step}${text === '' ? '' : `?${text}`}`;
}

/** The nearest value that the knob can stand at: an address may be written by hand. */
function onScale({ least, most, by }: Knob, value: number): number {
  const steps = Math.round((Math.min(most, Math.max(least, value)) - least) / by);
  return Math.min(most, least + steps * by);
}

function wholeNumber(text: string | undefined, otherwise: number): number {
  const value = Number(text ?? Number.NaN);
  return Number.isSafeInteger(value) && value >= 0 ? value : otherwise;
}
