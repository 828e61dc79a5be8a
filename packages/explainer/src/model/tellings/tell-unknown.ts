/** The provider's reply is lost: nobody knows whether the money was taken, until somebody asks. */

import { codeOf, send } from '../app.ts';
import { chargeAndAnswer } from '../handlers.ts';
import { json, type Serve } from '../http-lines.ts';
import { protect, startInstance } from '../process.ts';
import { reconcile } from '../reconciling.ts';
import type { CallFault } from '../stage-provider.ts';
import type { Stage } from '../stage.ts';
import type { Run } from '../story.ts';

/** Tells it. */
export const run: Run = async (stage, variant, { asks = 2_500 }) => {
  const intent = stage.intends(1_200);
  const serve = serveOf(stage, variant);
  const asking = variant === 'samekey' ? reconcile(stage, { afterMs: asks }) : null;
  const tries = variant === 'no-reconciler' ? 3 : 12;
  for (let i = 0; i < tries; i += 1) {
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
      patienceMs: 3_000,
    });
    if (answer !== null && answer.status < 400) break;
    if (answer !== null && codeOf(answer) === 'key-reused') break;
    await stage.pause(1_500);
  }
  await asking;
};

/** The first call's reply is lost, and no other. */
function serveOf(stage: Stage, variant: string): Serve {
  const faults: CallFault[] = [{ losesReply: true }];
  const fault = (): CallFault => faults.shift() ?? {};
  const samekey = startInstance(stage, { lane: 'api-1' });
  const isGuess = variant === 'guess';
  const whenNoReply = isGuess ? { whenNoReply: json(503, { error: 'It did not work, try again.' }) } : {};
  return protect(
    samekey,
    // `standard`: a 5xx says that nothing happened. `payments`: it says that nobody knows.
    { policy: isGuess ? 'standard' : 'payments', operation: 'pay', reconcileAfterMs: 200 },
    chargeAndAnswer(stage, 'api-1', { fault, ...whenNoReply }),
  );
}
