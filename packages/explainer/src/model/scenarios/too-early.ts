/** The reconciler asks before the charge has arrived at the provider. */

import { hasMark, isSeenWhole, RECONCILED_LANES, type Scenario } from '../story.ts';

/** When "not found" counts. */
export const tooEarly: Scenario = {
  id: 'too-early',
  title: 'The question that came too early',
  story:
    'The call to the provider hangs on its way, and the API gives up waiting. The reconciler asks the provider, which knows of no payment: it has not arrived yet. A moment later it does.',
  lanes: RECONCILED_LANES,
  variants: [
    {
      id: 'believes',
      title: 'Believes “not found”',
      says: 'The provider knows of no payment, so the row is opened for another try at once.',
      breaks: { harm: 'paid-twice', share: 1 },
      code: `const charge = await provider.find(order);
if (!charge) await db.release(key); // "nothing happened"`,
    },
    {
      id: 'samekey',
      title: 'Samekey',
      says: '“Not found” counts only when no call can be under way any more. Until then the reconciler asks again later.',
      breaks: null,
      code: `createReconciler({
  samekey,
  operations: {
    // No call is under way for longer than this.
    pay: { inquire, callTimeMaxMs: 8_000 },
  },
}).start();`,
    },
  ],
  knobs: [
    {
      id: 'way',
      lane: 'provider',
      title: 'Gets the call after',
      unit: 'ms',
      least: 3_500,
      most: 7_500,
      by: 500,
      usual: 4_500,
    },
  ],
  tasks: [
    {
      id: 'twice',
      text: 'Make the customer pay twice: choose “Believes ‘not found’” and play to the end.',
      variant: 'believes',
      learned: '“Not found” says: not yet. It is no proof that nothing will come.',
      isDone: (trace, step) => trace.variant === 'believes' && hasMark(trace, step, 'charged-again'),
    },
    {
      id: 'once',
      text: 'Now with Samekey: play to the end, and count how often it asks.',
      variant: 'samekey',
      learned: 'A proof needs time to pass: “no effect” counts once every call must have ended.',
      isDone: isSeenWhole('samekey'),
    },
  ],
  run: { load: async () => (await import('../tellings/tell-too-early.ts')).run },
};
