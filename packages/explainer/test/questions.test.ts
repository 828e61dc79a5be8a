/** The questions at the foot of the page lead to steps in which happens what they say. */

import { expect, it } from 'vitest';
import { play } from '../src/model/index.ts';
import { panelsOf, posterOf } from '../src/view/poster.ts';
import { QUESTIONS } from '../src/view/questions.ts';
import { addressOf, placeOf } from '../src/view/step-address.ts';
import { TOUR } from '../src/view/tour.ts';

it.each(QUESTIONS)('$asks', async ({ address, mark }) => {
  const place = placeOf(address);
  expect(addressOf(place)).toBe(address);
  const { steps } = await play(place);
  expect(steps[place.step]?.marks).toContain(mark);
});

it('a poster says all that was said, and is well-formed whatever is said', async () => {
  const place = placeOf('#unknown/samekey/1/0');
  const trace = await play(place);
  const more = { address: place.variant, beside: 'the other way' };
  const { svg, height } = posterOf([{ trace, title: 'A & B', variant: '<none>', ...more }]);
  const text = svg.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
  for (const { caption } of trace.steps) expect(text).toContain(caption.replaceAll('&', '&amp;'));
  expect(svg).toContain('A &amp; B: &lt;none>');
  expect(text).toContain(trace.verdict);
  expect(text).toContain('the other way');
  // Several runs stand one below the other.
  const whole = posterOf(await panelsOf(TOUR));
  expect(whole.height).toBeGreaterThan(height * 2);
  expect(whole.svg.match(/Samekey: Meant: /g)).toHaveLength(TOUR.length);
});
