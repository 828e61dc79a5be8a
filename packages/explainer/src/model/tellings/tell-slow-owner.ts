/** API 1 stands still in the middle of a payment, API 2 takes over, and API 1 wakes. */

import { reply } from 'samekey';
import { codeOf, send } from '../app.ts';
import type { Serve } from '../http-lines.ts';
import { serveOperation, startInstance } from '../process.ts';
import { type Debit, stageTransactions as transactions } from '../stage-transactions.ts';
import type { Stage } from '../stage.ts';
import type { LaneId } from '../trace.ts';
import { withoutFence } from '../without.ts';
import type { Run } from '../story.ts';

/** Tells it. */
export const run: Run = async (stage, variant, { lease = 4_000, pause = 9_000 }) => {
  const intent = stage.intends(1_200);
  const key = 'pay-8f3a';
  const serve = (lane: LaneId): Serve => serveOf(stage, variant, lane, lease);
  const awake = sleepOnce(stage, pause);
  const first = await send(stage, {
    intent,
    key,
    to: 'api-1',
    serve: serve('api-1'),
    caption: 'The customer presses “Pay €12.00”. The app sends the payment with a key.',
  });
  if (first?.status === 201) return;
  const second = serve('api-2');
  for (;;) {
    const answer = await send(stage, {
      intent,
      key,
      to: 'api-2',
      serve: second,
      caption: 'The app sends the same payment again, with the same key.',
      isRetry: true,
    });
    if (answer !== null && codeOf(answer) !== 'in-progress') break;
    await stage.pause(1_000);
  }
  await awake;
  // What the late owner still does.
  await stage.pause(1_500);
};

/** API 1 stands still as soon as it is at work. */
async function sleepOnce(stage: Stage, pauseMs: number): Promise<void> {
  if (pauseMs === 0) return;
  await stage.atWork('api-1');
  stage.freeze('api-1', 'API 1 stands still: its machine is paused. It does not notice.');
  await stage.pause(pauseMs);
  stage.thaw('api-1', 'API 1 wakes. To itself it looks as if no time had passed.');
}

function serveOf(stage: Stage, variant: string, lane: LaneId, claimTtlMs: number): Serve {
  const behind = variant === 'no-fence' ? { behind: withoutFence } : {};
  const samekey = startInstance(stage, { lane, transactions, ...behind });
  const { recorder } = stage;
  const pay = samekey.transactional({
    name: 'pay',
    claimTtlMs,
    run: async ({ order, amountCents }: Debit, { tx, number }) => {
      recorder.happens({
        lane,
        caption: `${recorder.nameOf(lane)} begins a transaction and writes the debit. Nothing is committed yet.`,
        tone: 'money',
      });
      tx.set(`debit ${stage.random.next()} of attempt ${number}`, { order, amountCents });
      stage.tellAtWork(lane);
      await stage.work(lane, 100);
      return reply(201, { order, paid: amountCents });
    },
  });
  return serveOperation(pay);
}
