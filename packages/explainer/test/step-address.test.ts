/** Addresses of single steps. */

import { describe, expect, it } from 'vitest';
import { type Fault, FAULTS_MAX, SCENARIOS } from '../src/model/index.ts';
import { addressOf, placeOf } from '../src/view/step-address.ts';

describe('the address of a step', () => {
  it('leads back to the place that it was made of', () => {
    for (const scenario of SCENARIOS) {
      for (const { id: variant } of scenario.variants) {
        const knobs = Object.fromEntries(
          scenario.knobs.map(({ id, least, most, usual }) => [id, most === usual ? least : most]),
        );
        const faults: Fault[] = [{ kind: 'lose', from: 'api-1', to: 'client', nth: 2 }];
        const placed = scenario.takesFaults === true ? faults : [];
        const place = { scenario, variant, seed: 42, step: 9, knobs, faults: placed };
        expect(placeOf(addressOf(place))).toEqual(place);
      }
    }
  });

  it('leads to the first story where it says nothing, or nothing that there is', () => {
    for (const hash of ['', '#', '#/', '#no-such-story/no-such-version/x/-3', '#%']) {
      expect(placeOf(hash)).toMatchObject({ scenario: SCENARIOS[0], seed: 1, step: 0, knobs: {} });
    }
  });

  it('takes faults only where they can be placed, and no others than there are', () => {
    const text = 'lose.api-1.client.1_melt.api-1.client.1_dies.nobody.api-1.1_hold.client.api-1.0_again';
    expect(placeOf(`#sandbox/samekey/1/0?faults=${text}`).faults).toEqual([
      { kind: 'lose', from: 'api-1', to: 'client', nth: 1 },
    ]);
    expect(placeOf(`#lost-answer/samekey/1/0?faults=${text}`).faults).toEqual([]);
    const many = Array.from({ length: 30 }, (_, i) => `lose.api-1.client.${i + 1}`).join('_');
    expect(placeOf(`#sandbox/samekey/1/0?faults=${many}`).faults).toHaveLength(FAULTS_MAX);
  });

  it('keeps knobs within their bounds, and leaves out those that are as usual', () => {
    expect(placeOf('#double-click/no-claim/1/0?gap=100000').knobs).toEqual({ gap: 600 });
    expect(placeOf('#double-click/no-claim/1/0?gap=x&other=1').knobs).toEqual({});
    const place = placeOf('#double-click/no-claim/1/0?gap=40');
    expect(addressOf(place)).toBe('#double-click/no-claim/1/0');
  });
});
