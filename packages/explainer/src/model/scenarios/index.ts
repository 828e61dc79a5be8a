/** All stories, in the order in which they are told: one idea more in each. */

import type { Scenario } from '../story.ts';
import { crash } from './crash.ts';
import { doubleClick } from './double-click.ts';
import { forgetful } from './forgetful.ts';
import { expiry } from './long-tunnel.ts';
import { lostAnswer } from './lost-answer.ts';
import { otherAmount } from './other-amount.ts';
import { outbox } from './call-before-commit.ts';
import { sandbox } from './sandbox.ts';
import { slowOwner } from './slow-owner.ts';
import { threeParts } from './three-parts.ts';
import { tooEarly } from './too-early.ts';
import { twoTenants } from './two-tenants.ts';
import { unknown } from './unknown.ts';

/** The stories. */
export const SCENARIOS: readonly [Scenario, ...Scenario[]] = [
  lostAnswer,
  doubleClick,
  otherAmount,
  slowOwner,
  unknown,
  crash,
  threeParts,
  forgetful,
  outbox,
  tooEarly,
  twoTenants,
  expiry,
  sandbox,
];
