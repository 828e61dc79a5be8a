import { describe, expect, it } from 'vitest';
import { readSteps, stepsTextWith } from '../../src/ways/steps.ts';

const INTENT = { kind: 'effect', name: 'charge', input: 'digest', done: null } as const;

describe('the result of an effect that somebody else has learned', () => {
  it('stands in the steps as if the call had given it', () => {
    const text = stepsTextWith([INTENT], INTENT, { id: 'ch_1', at: new Date(0) });
    const [step] = readSteps(text) ?? [];
    expect(step).toEqual({ ...INTENT, done: { result: { id: 'ch_1', at: '1970-01-01T00:00:00.000Z' } } });
  });

  it('is refused where it is larger than a call may give', () => {
    // Quotation marks are two of the bytes.
    const most = 'x'.repeat(64 * 1024 - 2);
    expect(readSteps(stepsTextWith([INTENT], INTENT, most))?.at(-1)).toMatchObject({
      done: { result: most },
    });
    expect(() => stepsTextWith([INTENT], INTENT, `${most}x`)).toThrow(
      'The result of "charge" has 65537 bytes as JSON, 65536 is the most: keep large data in a table of yours and return its id.',
    );
  });
});
