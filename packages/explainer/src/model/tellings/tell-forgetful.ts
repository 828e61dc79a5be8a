/** API 1 dies in its call, and API 2 repeats the call, or has somebody ask. */

import { reply } from 'samekey';
import { codeOf, send } from '../app.ts';
import type { Serve } from '../http-lines.ts';
import { serveOperation, startInstance } from '../process.ts';
import { reconcile } from '../reconciling.ts';
import type { Stage } from '../stage.ts';
import type { Run } from '../story.ts';
import type { LaneId } from '../trace.ts';

const DAY_MS = 86_400_000;

/** Tells it. */
export const run: Run = async (stage, variant, { lease = 4_000, memory = 3_000 }) => {
  stage.provider.remembersFor(memory);
  void stage.atWork('provider').then(() => {
    stage.kill('api-1', 'API 1 dies at this moment. It will never hear that the money was taken.');
  });
  // The one is told how long the provider remembers; the other believes what it likes.
  const retentionMs = variant === 'samekey' ? memory : DAY_MS;
  const serve = (lane: LaneId): Serve => serveOf(stage, lane, lease, retentionMs);
  const paying = pays(stage, serve('api-1'), serve('api-2'));
  // It goes home when the app has its answer.
  await Promise.race([paying, reconcile(stage, { afterMs: lease + 3_000, isOver: () => false })]);
};

async function pays(stage: Stage, first: Serve, second: Serve): Promise<void> {
  const one = { intent: stage.intends(1_200), key: 'pay-8f3a', patienceMs: 3_000 };
  await send(stage, {
    ...one,
    to: 'api-1',
    serve: first,
    caption: 'The customer presses “Pay €12.00”. The app sends the payment with a key.',
  });
  for (;;) {
    const answer = await send(stage, {
      ...one,
      to: 'api-2',
      serve: second,
      caption: 'The app sends the same payment again, with the same key.',
      isRetry: true,
    });
    if (answer !== null && answer.status < 400) return;
    if (answer !== null && codeOf(answer) === 'key-reused') return;
    await stage.pause(3_000);
  }
}

function serveOf(stage: Stage, lane: LaneId, claimTtlMs: number, retentionMs: number): Serve {
  const caller = { lane, world: stage.world(lane) };
  const pay = startInstance(stage, { lane }).phased({
    name: 'pay',
    claimTtlMs,
    reconcileAfterMs: 200,
    run: async (
      { order, amountCents }: { readonly order: string; readonly amountCents: number },
      attempt,
    ) => {
      const charge = await attempt.effect(
        'charge',
        ({ downstreamKey }) => stage.provider.charge(caller, { order, amountCents, key: downstreamKey }),
        { rule: 'downstreamKey', retentionMs, callTimeMaxMs: 1_000 },
      );
      return reply(201, { order, paid: amountCents, charge: charge.id });
    },
  });
  return serveOperation(pay);
}
