/** The last page: the reader places the faults. */

import type { Fault } from '../trace.ts';
import { isSeenWhole, type Scenario, type Task } from '../story.ts';
import { NO_CLAIM, SAMEKEY, UNPROTECTED } from '../variants.ts';

const ANSWER: Fault = { kind: 'lose', from: 'api-1', to: 'client', nth: 1 };
const CLICK: Fault = { kind: 'again', from: 'client', to: 'api-1', nth: 1 };
const OTHER: Fault = { kind: 'other', from: 'api-1', to: 'client', nth: 1 };
const CALL: Fault = { kind: 'hold', from: 'api-1', to: 'provider', nth: 1 };
const REPLY: Fault = { kind: 'lose', from: 'provider', to: 'api-1', nth: 1 };

/** So many faults must have come about for the last task. */
const SURVIVED_MIN = 3;

/** Faults to place by hand. */
export const sandbox: Scenario = {
  id: 'sandbox',
  title: 'Your own faults',
  story:
    'A payment of €12.00, two processes, a provider and a reconciler, and nothing goes wrong unless you place it. Go to a step in which a message leaves, and place a fault there.',
  lanes: [
    { id: 'client', title: 'App' },
    { id: 'api-1', title: 'API 1' },
    { id: 'api-2', title: 'API 2' },
    { id: 'helper', title: 'Reconciler', name: 'The reconciler' },
    { id: 'store', title: 'Database' },
    { id: 'provider', title: 'Provider' },
  ],
  takesFaults: true,
  variants: [
    { ...UNPROTECTED, breaks: { harm: 'paid-twice', share: 1, faults: [ANSWER] } },
    { ...NO_CLAIM, breaks: { harm: 'paid-twice', share: 1, faults: [CLICK] } },
    {
      id: 'no-fingerprint',
      title: 'No fingerprint',
      says: 'Samekey, but it does not compare what is asked: all requests under one key look the same.',
      breaks: { harm: 'told-paid-and-not-charged', share: 1, faults: [OTHER] },
      code: `const row = await db.claim(key); // not: key and fingerprint of the request`,
    },
    {
      id: 'no-provider-key',
      title: 'No key for the provider',
      says: 'Samekey, but the provider is told no key: two calls are two charges. The reconciler trusts that no call is under way for longer than 4 seconds.',
      breaks: { harm: 'paid-twice', share: 1, faults: [CALL] },
      code: `await provider.charge(order); // not: charge(order, key)`,
    },
    {
      id: 'no-reconciler',
      title: 'No reconciler',
      says: 'Samekey, but nobody asks the provider about what nobody knows.',
      breaks: { harm: 'left-unpaid', share: 1, faults: [REPLY] },
      code: `idempotent(samekey, { policy: 'payments', scope }, handler);
// and no reconciler`,
    },
    {
      ...SAMEKEY,
      says: 'The key is claimed before the handler runs, and passed on to the provider. A reconciler asks about what nobody knows.',
    },
  ],
  knobs: [
    {
      id: 'lease',
      lane: 'store',
      title: 'A claim lasts',
      unit: 'ms',
      least: 2_000,
      most: 10_000,
      by: 1_000,
      usual: 4_000,
    },
    {
      id: 'hold',
      title: 'A message is held up for',
      unit: 'ms',
      least: 1_000,
      most: 12_000,
      by: 1_000,
      usual: 9_000,
    },
    {
      id: 'sleep',
      title: 'A process stands still for',
      unit: 'ms',
      least: 1_000,
      most: 12_000,
      by: 1_000,
      usual: 6_000,
    },
  ],
  tasks: [
    {
      id: 'lose',
      text: 'Choose “No protection”, go to the step in which API 1 answers, and lose the answer.',
      variant: UNPROTECTED.id,
      faults: [ANSWER],
      learned: 'One lost message is enough. The app cannot tell it from a payment that was not made.',
      isDone: harmedIn(UNPROTECTED.id),
    },
    {
      id: 'call',
      text: 'Choose “No key for the provider”, and hold up the call from API 1 to the provider.',
      variant: 'no-provider-key',
      faults: [CALL],
      learned:
        'Nobody can know how late a call may still arrive. A provider that is told the key takes the money once all the same.',
      isDone: harmedIn('no-provider-key'),
    },
    {
      id: 'survive',
      text: `Now with Samekey: place ${SURVIVED_MIN} faults or more, wherever you like, and play to the end.`,
      variant: SAMEKEY.id,
      faults: [CALL, { kind: 'dies', from: 'store', to: 'api-2', nth: 1 }, CLICK],
      learned:
        'Whatever is lost, late, frozen or dead: the customer pays once, and is told so. Look for faults that break it.',
      isDone: (trace, step) =>
        isSeenWhole(SAMEKEY.id)(trace, step) && trace.placed.length - trace.unmet.length >= SURVIVED_MIN,
    },
  ],
  run: { load: async () => (await import('../tellings/tell-sandbox.ts')).run },
};

function harmedIn(variant: string): Task['isDone'] {
  return (trace, step) =>
    trace.variant === variant && step === trace.steps.length - 1 && trace.harms.length > 0;
}
