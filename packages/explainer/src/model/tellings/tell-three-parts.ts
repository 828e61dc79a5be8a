/** API 1 dies in the second or the third part of an order, and API 2 goes on. */

import { reply } from 'samekey';
import { codeOf, send } from '../app.ts';
import { chargeAndAnswer } from '../handlers.ts';
import type { Serve } from '../http-lines.ts';
import { protect, serveOperation, startInstance } from '../process.ts';
import { stageTransactions } from '../stage-transactions.ts';
import type { Stage } from '../stage.ts';
import type { LaneId } from '../trace.ts';
import type { Run } from '../story.ts';

const DAY_MS = 86_400_000;
const CLAIM_MS = 4_000;

/** Tells it. */
export const run: Run = async (stage, variant, { part = 3 }) => {
  const intent = stage.intends(1_200);
  const key = 'order-8f3a';
  void stage.atWork(part === 2 ? 'provider' : 'api-1').then(() => {
    stage.kill('api-1', `API 1 dies in the ${part === 2 ? 'second' : 'third'} part.`);
  });
  await send(stage, {
    intent,
    key,
    to: 'api-1',
    serve: serveOf(stage, variant, 'api-1'),
    caption: 'The customer presses “Order and pay €12.00”. The app sends the order with a key.',
  });
  const second = serveOf(stage, variant, 'api-2');
  for (;;) {
    const answer = await send(stage, {
      intent,
      key,
      to: 'api-2',
      serve: second,
      caption: 'The app sends the same order again, with the same key.',
      isRetry: true,
      patienceMs: 3_000,
    });
    if (answer !== null && codeOf(answer) !== 'in-progress' && answer.status < 500) return;
    await stage.pause(3_500);
  }
};

function serveOf(stage: Stage, variant: string, lane: LaneId): Serve {
  return variant === 'samekey' ? inParts(stage, lane) : inOnePiece(stage, lane);
}

interface Ordered {
  readonly order: string;
  readonly amountCents: number;
}

function inParts(stage: Stage, lane: LaneId): Serve {
  const { recorder, provider } = stage;
  const caller = { lane, world: stage.world(lane) };
  const order = startInstance(stage, { lane, transactions: stageTransactions }).phased({
    name: 'order',
    claimTtlMs: CLAIM_MS,
    run: async ({ order: id, amountCents }: Ordered, attempt) => {
      if (attempt.number > 1)
        recorder.happens({
          lane,
          caption: `${recorder.nameOf(lane)} runs the handler. What the row has noted is handed to it, and is not done again.`,
          tone: 'good',
        });
      await attempt.phase('put aside', async (tx) => {
        await works(stage, lane, `First part: ${recorder.nameOf(lane)} puts the goods aside.`);
        tx.set(`goods of ${id}, attempt ${attempt.number}`, {});
      });
      const charge = await attempt.effect(
        'charge',
        ({ downstreamKey }) => provider.charge(caller, { order: id, amountCents, key: downstreamKey }),
        { rule: 'downstreamKey', retentionMs: DAY_MS, callTimeMaxMs: 1_000 },
      );
      await attempt.phase('book parcel', async (tx) => {
        const done = works(stage, lane, `Third part: ${recorder.nameOf(lane)} books the parcel.`);
        stage.tellAtWork(lane);
        await done;
        tx.set(`parcel of ${id}, attempt ${attempt.number}`, {});
      });
      return reply(201, { order: id, paid: amountCents, charge: charge.id });
    },
  });
  return serveOperation(order);
}

function inOnePiece(stage: Stage, lane: LaneId): Serve {
  const name = stage.recorder.nameOf(lane);
  const charge = chargeAndAnswer(stage, lane);
  const options = {
    policy: 'payments',
    operation: 'order',
    claimTtlMs: CLAIM_MS,
    whenClaimEnds: 'resume',
  } as const;
  return protect(startInstance(stage, { lane }), options, async (request, attempt) => {
    await works(stage, lane, `First part: ${name} puts the goods aside.`);
    const answer = await charge(request, attempt);
    const done = works(stage, lane, `Third part: ${name} books the parcel.`);
    stage.tellAtWork(lane);
    await done;
    return answer;
  });
}

/** A part in the database of the shop. */
function works(stage: Stage, lane: LaneId, caption: string): Promise<void> {
  stage.recorder.happens({ lane, caption });
  return stage.work(lane, 40);
}
