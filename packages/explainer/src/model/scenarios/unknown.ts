/** The provider's reply is lost: nobody knows whether the money was taken, until somebody asks. */

import { hasMark, isSeenWhole, RECONCILED_LANES, type Scenario } from '../story.ts';

/** When "unknown" is right. */
export const unknown: Scenario = {
  id: 'unknown',
  title: 'Nobody knows',
  story:
    'The API asks the provider to take €12.00, and the provider’s reply is lost. Was the money taken? The API cannot know. What it does now decides who pays.',
  lanes: RECONCILED_LANES,
  variants: [
    {
      id: 'guess',
      title: 'Guess: it failed',
      says: 'The handler takes a time-out for a failure. It says that nothing happened, so the next try runs again.',
      breaks: { harm: 'paid-twice', share: 1 },
      code: `try {
  charge = await provider.charge(order);
} catch {
  // "It did not work."
  return res.status(503).json({ error: 'try again' });
}`,
    },
    {
      id: 'no-reconciler',
      title: 'Nobody asks',
      says: 'The row says “unknown”, and nothing runs again. But nobody asks the provider, so the app never learns that the customer has paid.',
      breaks: { harm: 'left-unpaid', share: 1 },
      code: `idempotent(samekey, { policy: 'payments', scope }, handler);
// and no reconciler`,
    },
    {
      id: 'samekey',
      title: 'Samekey',
      says: 'The row says “unknown”, and nothing runs again. A reconciler asks the provider and writes down the answer.',
      breaks: null,
      code: `createReconciler({
  samekey,
  operations: {
    pay: {
      inquire: async ({ key }) => {
        const charge = await provider.find(key);
        return charge
          ? { kind: 'completed', answer: reply(201, charge) }
          : { kind: 'no-effect' };
      },
    },
  },
}).start();`,
    },
  ],
  knobs: [
    {
      id: 'asks',
      lane: 'helper',
      title: 'Begins to look after',
      unit: 'ms',
      least: 500,
      most: 6_000,
      by: 500,
      usual: 2_500,
    },
  ],
  tasks: [
    {
      id: 'twice',
      text: 'Make the customer pay twice: choose “Guess: it failed” and play to the end.',
      variant: 'guess',
      learned:
        'A time-out says nothing about what happened. Whoever guesses pays for it in one case or in the other.',
      isDone: (trace, step) => trace.variant === 'guess' && hasMark(trace, step, 'charged-again'),
    },
    {
      id: 'unknown',
      text: 'Choose “Nobody asks” and see what the app is told.',
      variant: 'no-reconciler',
      learned:
        '“Unknown” is right when the money may have been taken. It stops the second charge, and somebody has to find out.',
      isDone: (trace, step) =>
        trace.variant === 'no-reconciler' &&
        step === trace.steps.length - 1 &&
        hasMark(trace, step, 'unknown'),
    },
    {
      id: 'settled',
      text: 'Now with Samekey: play to the end, and watch who asks whom.',
      variant: 'samekey',
      learned: 'The reconciler asks the provider. The app only repeats its request, and gets the answer.',
      isDone: (trace, step) => isSeenWhole('samekey')(trace, step) && hasMark(trace, step, 'settled'),
    },
  ],
  run: { load: async () => (await import('../tellings/tell-unknown.ts')).run },
};
