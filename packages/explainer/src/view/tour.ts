/**
 * The story in sixty seconds: three runs side by side with Samekey, of which only those steps are shown that move
 * somebody: the app, the money, the claim.
 */

import type { Trace } from '../model/index.ts';
import { type Place, placeOf } from './step-address.ts';

/** What is played, one after the other. */
export const TOUR: readonly Place[] = [
  '#lost-answer/no-protection/1/0',
  '#double-click/no-claim/1/0',
  '#other-amount/no-fingerprint/1/0',
].map(placeOf);

/** How long a step of it is shown, in milliseconds. */
export const TOUR_STEP_MS = 2_100;

/** The steps of a run that the tour shows; the last one among them. */
export function keySteps({ steps }: Trace): readonly number[] {
  return steps
    .filter(
      ({ n, lane, tone }) =>
        lane === 'client' || tone === 'money' || tone === 'danger' || n === steps.length - 1,
    )
    .map(({ n }) => n);
}
