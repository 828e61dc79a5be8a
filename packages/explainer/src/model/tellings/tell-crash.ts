/** API 1 dies as the provider takes the money, and API 2 takes over. */

import { reply } from 'samekey';
import { codeOf, send } from '../app.ts';
import { chargeAndAnswer } from '../handlers.ts';
import type { Serve } from '../http-lines.ts';
import { protect, serveOperation, startInstance } from '../process.ts';
import type { Stage } from '../stage.ts';
import type { LaneId } from '../trace.ts';
import { withoutRecoveryPoint } from '../without.ts';
import type { Run } from '../story.ts';

/** Tells it. */
export const run: Run = async (stage, variant, { lease = 4_000 }) => {
  const intent = stage.intends(1_200);
  const key = 'pay-8f3a';
  void stage.atWork('provider').then(() => {
    stage.kill('api-1', 'API 1 dies at this moment. It will never hear that the money was taken.');
  });
  await send(stage, {
    intent,
    key,
    to: 'api-1',
    serve: serveOf(stage, variant, 'api-1', lease),
    caption: 'The customer presses “Pay €12.00”. The app sends the payment with a key.',
  });
  const second = serveOf(stage, variant, 'api-2', lease);
  for (;;) {
    const answer = await send(stage, {
      intent,
      key,
      to: 'api-2',
      serve: second,
      caption: 'The app sends the same payment again, with the same key.',
      isRetry: true,
      patienceMs: 3_000,
    });
    if (answer !== null && codeOf(answer) !== 'in-progress' && answer.status < 500) return;
    await stage.pause(1_500);
  }
};

function serveOf(stage: Stage, variant: string, lane: LaneId, claimTtlMs: number): Serve {
  const samekey = startInstance(
    stage,
    variant === 'no-recovery-point' ? { lane, behind: withoutRecoveryPoint } : { lane },
  );
  if (variant === 'again') {
    const options = { policy: 'payments', operation: 'pay', claimTtlMs, whenClaimEnds: 'resume' } as const;
    return protect(samekey, options, chargeAndAnswer(stage, lane));
  }
  const caller = { lane, world: stage.world(lane) };
  const pay = samekey.phased({
    name: 'pay',
    claimTtlMs,
    run: async (
      { order, amountCents }: { readonly order: string; readonly amountCents: number },
      attempt,
    ) => {
      const charge = await attempt.effect(
        'charge',
        () => stage.provider.charge(caller, { order, amountCents, key: null }),
        {
          rule: 'inquire',
          inquire: async () => {
            const found = await stage.provider.find(caller, { order });
            return found === null ? null : { result: found };
          },
          callTimeMaxMs: 1_000,
        },
      );
      return reply(201, { order, paid: amountCents, charge: charge.id });
    },
  });
  return serveOperation(pay);
}
