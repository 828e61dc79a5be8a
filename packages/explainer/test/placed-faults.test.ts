/** Faults that are placed by hand: each does what is written on it, and nothing before its message. */

import { describe, expect, it } from 'vitest';
import {
  type Fault,
  FAULT_KINDS,
  faultAt,
  type FaultKind,
  faultsOf,
  faultsText,
  play,
  SCENARIOS,
  type Trace,
} from '../src/model/index.ts';

const found = SCENARIOS.find(({ takesFaults }) => takesFaults === true);
if (found === undefined) throw new Error('There is no story with faults to place.');
const scenario = found;
const run = (faults: readonly Fault[], variant = 'samekey'): Promise<Trace> =>
  play({ scenario, variant, seed: 1, faults });
const captions = ({ steps }: Trace): string => steps.map(({ caption }) => caption).join('\n');

describe('the sandbox', () => {
  it('is the last of the stories', () => {
    expect(SCENARIOS.at(-1)).toBe(scenario);
  });

  it('has nothing go wrong unless somebody places it', async () => {
    for (const { id } of scenario.variants) {
      const { harms, steps } = await run([], id);
      expect(harms).toEqual([]);
      expect(steps.some(({ tone }) => tone === 'danger')).toBe(false);
    }
  });

  it.each(FAULT_KINDS)('a fault changes nothing before its message leaves: %s', async (kind) => {
    const usual = await run([]);
    for (const { n, sentIn } of usual.messages) {
      const { steps } = await run([faultAt(usual.messages, n, kind)]);
      expect(steps.slice(0, sentIn + 1)).toEqual(usual.steps.slice(0, sentIn + 1));
    }
  });

  it.each<readonly [FaultKind, string]>([
    ['lose', 'is lost on its way'],
    ['hold', 'is held up for 9 seconds'],
    ['dies', 'API 1 dies'],
    ['sleeps', 'API 1 wakes'],
    ['again', 'presses again'],
    ['other', '€50.00 for another order'],
  ])('a fault does what is written on it: %s', async (kind, said) => {
    const trace = await run([{ kind, from: 'api-1', to: 'provider', nth: 1 }]);
    expect(captions(trace)).toContain(said);
    expect(trace.unmet).toEqual([]);
    expect(trace.harms).toEqual([]);
    expect(trace.verdict).toContain('the app knows it');
  });

  it('comes about in each version that sends its message, and is said to be missing in others', async () => {
    const fault: Fault = { kind: 'lose', from: 'store', to: 'api-1', nth: 2 };
    expect((await run([fault])).unmet).toEqual([]);
    expect((await run([fault], 'no-protection')).unmet).toEqual([fault]);
  });

  it('leaves one process alive: nobody would be there to answer', async () => {
    const last: Fault = { kind: 'dies', from: 'client', to: 'api-2', nth: 1 };
    const trace = await run([{ kind: 'dies', from: 'client', to: 'api-1', nth: 1 }, last]);
    expect(trace.unmet).toEqual([last]);
    expect(trace.verdict).toContain('the app knows it');
  });

  it('writes faults for an address, and reads them', () => {
    const faults = FAULT_KINDS.map((kind, i): Fault => ({ kind, from: 'api-1', to: 'store', nth: i + 1 }));
    expect(faultsOf(faultsText(faults), scenario.lanes)).toEqual(faults);
    expect(faultsOf('', scenario.lanes)).toEqual([]);
  });
});
