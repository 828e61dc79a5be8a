/** All stories, in the order in which they are told: one idea more in each. */

import type { Scenario } from '../story.ts';
import { doubleClick } from './double-click.ts';
import { lostAnswer } from './lost-answer.ts';
import { otherAmount } from './other-amount.ts';
import { slowOwner } from './slow-owner.ts';
import { unknown } from './unknown.ts';

/** The stories. */
export const SCENARIOS: readonly [Scenario, ...Scenario[]] = [
  lostAnswer,
  doubleClick,
  otherAmount,
  slowOwner,
  unknown,
];
