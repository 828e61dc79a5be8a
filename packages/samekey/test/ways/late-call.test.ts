/** What the end of a call means for a record that has gone on, and how long "not found" says nothing (F69). */

import { describe, expect, it } from 'vitest';
import { contradictionOf, type EndedCall, mayBeUnderWayMs } from '../../src/ways/late-call.ts';
import type { SamekeyRecord } from '../../src/core/record.ts';
import { stepsText } from '../../src/ways/steps.ts';

const OWN = { claimId: 'a', attempt: 1 };
const OTHER = { claimId: 'b', attempt: 2 };
const CALL: EndedCall = {
  effect: 'charge',
  fence: OWN,
  createdAt: 5,
  end: { result: { id: 1, fee: 2 } },
  isCovered: false,
};

function record(fields: Partial<SamekeyRecord>): SamekeyRecord {
  return { state: 'in_progress', createdAt: 5, proof: null, steps: null, ...fields } as SamekeyRecord;
}

const intentOf = (attempt: number): string =>
  stepsText([
    {
      kind: 'effect',
      name: 'charge',
      input: 'd',
      done: null,
      call: { attempt, rule: 'inquire', timeMaxMs: 10 },
    },
  ]);
const doneWith = (result: unknown): string =>
  stepsText([{ kind: 'effect', name: 'charge', input: 'd', done: { result } }]);

describe('the end of a call that came late', () => {
  it.each<[string, SamekeyRecord | null, Partial<EndedCall>, ReturnType<typeof contradictionOf>]>([
    ['nothing is left of the record', null, {}, 'yes'],
    ['the key has another life', record({ ...OWN, createdAt: 6 }), { isCovered: true }, 'yes'],
    ['the record is still its own', record(OWN), {}, 'no'],
    [
      'its own attempt has left it open',
      record({ ...OWN, state: 'retryable', steps: intentOf(1) }),
      {},
      'not-yet',
    ],
    ['its own attempt has not ended yet', record({ ...OWN, steps: intentOf(1) }), {}, 'not-yet'],
    ['it was given up', record({ ...OWN, state: 'unknown', steps: intentOf(1) }), {}, 'not-yet'],
    [
      'it was given up with a key',
      record({ ...OWN, state: 'unknown', steps: intentOf(1) }),
      { isCovered: true },
      'no',
    ],
    ['its own attempt ended without it', record({ ...OWN, state: 'failed', steps: intentOf(1) }), {}, 'no'],
    ['its own attempt called again', record({ ...OWN, steps: doneWith({ id: 2 }) }), {}, 'yes'],
    [
      'the provider told somebody of another call',
      record({ ...OWN, state: 'completed', proof: 'settled', steps: doneWith({ id: 2 }) }),
      {},
      'yes',
    ],
    [
      'somebody said that nothing happened',
      record({ ...OWN, state: 'retryable', proof: 'settled' }),
      {},
      'yes',
    ],
    ['somebody said that it failed', record({ ...OWN, state: 'failed', proof: 'settled' }), {}, 'yes'],
    ['somebody said that it is done', record({ ...OWN, state: 'completed', proof: 'settled' }), {}, 'no'],
    ['another attempt has called', record({ ...OTHER, steps: intentOf(2) }), {}, 'yes'],
    [
      'another attempt has called with the same key',
      record({ ...OTHER, steps: intentOf(2) }),
      { isCovered: true },
      'no',
    ],
    ['another attempt has not called yet', record({ ...OTHER, steps: intentOf(1) }), {}, 'not-yet'],
    ['another result is recorded', record({ ...OTHER, steps: doneWith({ id: 2 }) }), {}, 'yes'],
    ['this result is recorded', record({ ...OTHER, steps: doneWith({ fee: 2, id: 1 }) }), {}, 'no'],
    [
      'a result is recorded and this call failed',
      record({ ...OTHER, steps: doneWith(1) }),
      { end: { error: 1 } },
      'yes',
    ],
    ['its intent is gone', record(OTHER), {}, 'yes'],
    [
      'the steps cannot be opened here',
      record({ ...OTHER, unreadable: { part: 'steps', sealKeyId: null, why: 'opening-failed' } as never }),
      {},
      'yes',
    ],
  ])('%s', (_what, stands, call, expected) => {
    expect(contradictionOf(stands, { ...CALL, ...call })).toBe(expected);
  });
});

describe('"not found"', () => {
  it.each([
    [{ sinceBegunMs: 0, intentAgeMs: 0 }, 12],
    [{ sinceBegunMs: 5, intentAgeMs: 3 }, 4],
    [{ sinceBegunMs: 0, intentAgeMs: 1_000 }, 2],
    [{ sinceBegunMs: 2, intentAgeMs: 1_000 }, 0],
    [{ sinceBegunMs: 11, intentAgeMs: null }, 1],
  ])('asked %o says nothing for %d ms more', (asked, leftMs) => {
    expect(Math.max(0, mayBeUnderWayMs({ ...asked, claimTtlMs: 10, callTimeMaxMs: 2 }))).toBe(leftMs);
  });
});
