/** The reconciler asks before the charge has arrived at the provider. */

import { codeOf, send } from '../app.ts';
import { chargeAndAnswer } from '../handlers.ts';
import { protect, startInstance } from '../process.ts';
import { reconcile } from '../reconciling.ts';
import type { CallFault } from '../stage-provider.ts';
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
      title: 'The call is on its way for',
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
  async run(stage, variant, { way = 4_500 }) {
    const intent = stage.intends(1_200);
    const faults: CallFault[] = [{ wayMs: way, losesReply: true }];
    const samekey = startInstance(stage, { lane: 'api-1' });
    const serve = protect(
      samekey,
      { policy: 'payments', operation: 'pay', reconcileAfterMs: 200 },
      chargeAndAnswer(stage, 'api-1', { fault: () => faults.shift() ?? {} }),
    );
    const asking = reconcile(stage, {
      afterMs: 1_800,
      callTimeMaxMs: variant === 'believes' ? 0 : 8_000,
    });
    for (let i = 0; ; i += 1) {
      const answer = await send(stage, {
        intent,
        key: 'pay-8f3a',
        to: 'api-1',
        serve,
        isRetry: i > 0,
        caption:
          i === 0
            ? 'The customer presses “Pay €12.00”. The app sends the payment with a key.'
            : 'The app sends the same payment again, with the same key.',
      });
      if (answer !== null && codeOf(answer) === undefined && answer.status < 400) break;
      await stage.pause(3_000);
    }
    await asking;
    // What is still on its way.
    await stage.pause(Math.max(0, way + 500 - stage.timeline.now));
  },
};
