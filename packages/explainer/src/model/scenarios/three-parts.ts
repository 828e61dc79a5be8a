/** A process dies in the third part of an order, and another one goes on there. */

import { reply } from 'samekey';
import { codeOf, send } from '../app.ts';
import { chargeAndAnswer } from '../handlers.ts';
import type { Serve } from '../http-lines.ts';
import { protect, serveOperation, startInstance } from '../process.ts';
import type { Stage } from '../stage.ts';
import { hasMark, isSeenWhole, LANES, type Scenario } from '../story.ts';
import type { LaneId } from '../trace.ts';

const DAY_MS = 86_400_000;
const CLAIM_MS = 4_000;

/** What it means to go on. */
export const threeParts: Scenario = {
  id: 'phases',
  title: 'The order in three parts',
  story:
    'An order has three parts: put the goods aside, take €12.00, book the parcel. API 1 dies in the last one. Whoever takes over should do what is left, and nothing twice.',
  lanes: LANES,
  variants: [
    {
      id: 'one-piece',
      title: 'In one piece',
      says: 'The handler does one part after the other, and the row says only that somebody is at work. Whoever takes over begins at the beginning.',
      breaks: { harm: 'paid-twice', share: 1 },
      code: `await db.putAside(order);
const charge = await provider.charge(order);
await db.bookParcel(order); // API 1 dies here
res.status(201).json(charge);`,
    },
    {
      id: 'samekey',
      title: 'Samekey',
      says: 'The row notes each part together with what it wrote. Whoever takes over is handed what is noted, and does the rest.',
      breaks: null,
      code: `run: async (order, attempt) => {
  await attempt.phase('put aside', (tx) => …);
  const charge = await attempt.effect('charge',
    ({ downstreamKey }) => provider.charge(order, downstreamKey),
    { rule: 'downstreamKey', retentionMs: 24 * HOUR });
  await attempt.phase('book parcel', (tx) => …);
  return reply(201, charge);
}`,
    },
  ],
  knobs: [{ id: 'part', title: 'API 1 dies in part', unit: 'of 3', least: 2, most: 3, by: 1, usual: 3 }],
  tasks: [
    {
      id: 'twice',
      text: 'Make the customer pay twice: choose “In one piece” and play to the end.',
      variant: 'one-piece',
      learned: 'To begin again is to do again what was done. Nobody had noted how far API 1 was.',
      isDone: (trace, step) => trace.variant === 'one-piece' && hasMark(trace, step, 'charged-again'),
    },
    {
      id: 'goes-on',
      text: 'Now with Samekey: play to the end, and see which parts API 2 does.',
      variant: 'samekey',
      learned: 'What is noted in the row is not done again: API 2 goes on at the recovery point.',
      isDone: (trace, step) => isSeenWhole('samekey')(trace, step) && hasMark(trace, step, 'taken-over'),
    },
    {
      id: 'in-the-call',
      text: 'Let API 1 die in the second part, while the provider takes the money, and play to the end.',
      variant: 'samekey',
      learned:
        'The row says that a call was begun, and not how it ended. It is repeated with the same key, so the provider takes nothing more.',
      isDone: (trace, step) => isSeenWhole('samekey')(trace, step) && hasMark(trace, step, 'already-charged'),
    },
  ],
  async run(stage, variant, { part = 3 }) {
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
  },
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
  const order = startInstance(stage, { lane }).phased({
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
