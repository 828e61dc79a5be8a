/** The reconciler asks before the charge has arrived at the provider. */

import { codeOf, send } from '../app.ts';
import { chargeAndAnswer } from '../handlers.ts';
import { protect, startInstance } from '../process.ts';
import { reconcile } from '../reconciling.ts';
import type { CallFault } from '../stage-provider.ts';
import type { Run } from '../story.ts';

/** Tells it. */
export const run: Run = async (stage, variant, { way = 4_500 }) => {
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
};
