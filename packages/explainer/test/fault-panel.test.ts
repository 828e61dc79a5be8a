/** The panel on which faults are placed: what it offers at a step, and what a button asks for. Without a browser. */

import { describe, expect, it } from 'vitest';
import {
  type Fault,
  FAULT_KINDS,
  FAULTS_MAX,
  faultsText,
  play,
  SCENARIOS,
  type Trace,
} from '../src/model/index.ts';
import { faultPanel } from '../src/view/fault-panel.ts';
import { shownOf } from './template-shown.ts';

const scenario = SCENARIOS.find(({ takesFaults }) => takesFaults === true) ?? SCENARIOS[0];
const ANSWER: Fault = { kind: 'lose', from: 'api-1', to: 'client', nth: 1 };
const played = (faults: readonly Fault[] = []): Promise<Trace> =>
  play({ scenario, variant: 'samekey', seed: 1, faults });
const stepOf = ({ messages }: Trace, from: string, to: string): number =>
  messages.find((one) => one.from === from && one.to === to)?.sentIn ?? -1;

/** The panel, and what it was asked for when each of its buttons was pressed. */
function panel(trace: Trace, step: number, placed: readonly Fault[] = []) {
  const asked: string[] = [];
  const { text, handlers } = shownOf(
    faultPanel(trace, step, placed, {
      place: (faults) => void asked.push(faultsText(faults)),
      go: (to) => void asked.push(`go ${to}`),
    }),
  );
  for (const press of handlers) press();
  return { text, asked };
}

describe('the panel', () => {
  it('offers each kind at the message that leaves, and the same fault a button is named after', async () => {
    const trace = await played();
    const { text, asked } = panel(trace, stepOf(trace, 'api-1', 'client'));
    expect(text).toContain('from API 1 to App');
    expect(asked).toEqual(FAULT_KINDS.map((kind) => `${kind}.api-1.client.1`));
  });

  it('stops no machine at a message that neither comes from an API nor goes to one', async () => {
    const trace = await played([{ kind: 'lose', from: 'provider', to: 'api-1', nth: 1 }]);
    const { asked } = panel(trace, stepOf(trace, 'helper', 'store'));
    expect(asked.map((one) => one.split('.')[0])).toEqual(['lose', 'hold', 'again', 'other']);
  });

  it('takes away what is placed, by its own button and by that of the list', async () => {
    const trace = await played([ANSWER]);
    const { text, asked } = panel(trace, stepOf(trace, 'api-1', 'client'), [ANSWER]);
    expect(text).toContain('aria-pressed=true');
    expect(asked[0]).toBe('');
    expect(asked.at(-1)).toBe('');
    expect(asked[1]).toBe('lose.api-1.client.1_hold.api-1.client.1');
  });

  it('offers no more than may be placed, and says what does not come about', async () => {
    const many = Array.from({ length: FAULTS_MAX }, (_, i): Fault => ({ ...ANSWER, nth: i + 40 }));
    const trace = await played(many);
    const step = stepOf(trace, 'api-1', 'client');
    expect(panel(trace, step, many).text.match(/\?disabled=true/g)).toHaveLength(FAULT_KINDS.length);
    expect(panel(trace, step, many.slice(1)).text).not.toContain('?disabled=true');
    expect(panel(trace, step, many).text.match(/does not come about/g)).toHaveLength(FAULTS_MAX);
  });

  it('leads to the next message where none leaves', async () => {
    const trace = await played();
    const { messages, steps } = trace;
    const still = steps.find(({ n }) => messages.every(({ sentIn }) => sentIn !== n))?.n ?? -1;
    const next = messages.find(({ sentIn }) => sentIn > still);
    expect(panel(trace, still).asked).toEqual(next === undefined ? [] : [`go ${next.sentIn}`]);
  });
});
