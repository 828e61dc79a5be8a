/** The provider is called in the middle of a transaction, or by a worker after it. */

import { reply } from 'samekey';
import { createWorker } from 'samekey/worker';
import { send } from '../app.ts';
import type { Serve } from '../http-lines.ts';
import { serveOperation, startInstance } from '../process.ts';
import { rowOf } from '../shown-row.ts';
import type { CallFault } from '../stage-provider.ts';
import { type Debit, stageTransactions as transactions } from '../stage-transactions.ts';
import type { Stage } from '../stage.ts';
import type { Run } from '../story.ts';

/** Tells it. */
export const run: Run = async (stage, variant) => {
  const intent = stage.intends(1_200);
  const faults: CallFault[] = [{ losesReply: true }];
  const fault = (): CallFault => faults.shift() ?? {};
  const serve = variant === 'samekey' ? withOutbox(stage, fault) : withoutOutbox(stage, fault);
  for (let i = 0; ; i += 1) {
    const answer = await send(stage, {
      intent,
      key: 'order-8f3a',
      to: 'api-1',
      serve,
      isRetry: i > 0,
      caption:
        i === 0
          ? 'The customer presses “Order and pay €12.00”. The app sends the order with a key.'
          : 'The app sends the same order again, with the same key.',
    });
    if (answer?.status === 201) return;
    await stage.pause(2_500);
  }
};

function withoutOutbox(stage: Stage, fault: () => CallFault): Serve {
  const lane = 'api-1';
  const order = startInstance(stage, { lane, transactions }).transactional({
    name: 'order',
    run: async ({ order: id, amountCents }: Debit, { tx, number }) => {
      tx.set(`order ${id} of attempt ${number}`, { amountCents });
      const caller = { lane, world: stage.world(lane) } as const;
      const charge = await stage.provider.charge(caller, { order: id, amountCents, key: null }, fault());
      return reply(201, { order: id, paid: amountCents, charge: charge.id });
    },
  });
  return serveOperation(order);
}

function withOutbox(stage: Stage, fault: () => CallFault): Serve {
  startWorker(stage, fault);
  const order = startInstance(stage, { lane: 'api-1', transactions }).transactional({
    name: 'order',
    run: async ({ order: id, amountCents }: Debit, attempt) => {
      attempt.tx.set(`order ${id} of attempt ${attempt.number}`, { amountCents });
      await attempt.handOver({ topic: 'charge', payload: { order: id, amountCents } });
      return reply(202, { order: id });
    },
  });
  return serveOperation(order);
}

/** A worker on a machine of its own, on the same database. */
function startWorker(stage: Stage, fault: () => CallFault): void {
  const { recorder, database, provider } = stage;
  const lane = 'helper';
  const world = stage.world(lane);
  createWorker({
    store: database,
    world,
    handlers: {
      charge: async ({ payload }, { downstreamKey }) => {
        const { order, amountCents } = payload as Debit;
        const sent = recorder.happens({
          lane: 'store',
          caption: 'The database gives the message to the worker.',
          tone: 'claim',
          sends: [
            { from: 'store', to: lane, label: 'message', body: JSON.stringify(payload), tone: 'claim' },
          ],
        });
        for (const message of sent) recorder.arrives(message);
        const charge = await provider.charge(
          { lane, world },
          { order, amountCents, key: downstreamKey },
          fault(),
        );
        return reply(201, { order, paid: amountCents, charge: charge.id });
      },
    },
    onEvent({ type }) {
      if (type === 'delivery-failed')
        recorder.happens({
          lane,
          caption: 'The worker has no reply. The message stays in the database, and is delivered again.',
        });
      if (type !== 'delivered') return;
      void database.list({ limit: 1 }).then(([record]) => {
        if (record !== undefined) recorder.row(rowOf(record, recorder.lanes));
        recorder.happens({
          lane: 'store',
          caption: 'The message is done, and the row holds the answer of the worker.',
          tone: 'good',
          marks: ['stored'],
        });
      });
    },
  }).start();
}
