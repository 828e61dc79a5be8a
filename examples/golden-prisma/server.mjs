// @ts-check
// The golden path: order and payment row in one transaction; the provider's charge as an effect; the booking in another transaction,
// with a message to the worker, which sends the receipt.
// This file is the same for pg, Kysely and Prisma; what differs is shop.mjs.
import express from 'express';
import { createSamekey, reply } from 'samekey';
import { serve } from 'samekey/express';
import { createOutbox } from 'samekey/outbox';
import { createWorker } from 'samekey/worker';
import { chargeAt, sendReceipt } from './provider.mjs';
import { shop, store, transactions } from './shop.mjs';

const samekey = createSamekey({ store, transactions });
await samekey.ready();
const outbox = createOutbox({ store });

const DAY_MS = 24 * 60 * 60 * 1000;

const placeOrder = samekey.phased({
  name: 'place-order',
  // What a process that dies leaves is taken up so soon; and a second click waits for the first one's answer.
  claimTtlMs: 10_000,
  waitMaxMs: 5_000,
  run: async (/** @type {{ account: string, item: string }} */ { account, item }, attempt) => {
    // Committed together with the recovery point: whoever goes on after a crash finds this order, and makes no other one.
    const order = await attempt.phase('order', (tx) => shop.open(tx, account, item));
    const asked = { reference: order.reference, amountCents: order.amountCents };
    // The intent is stored before the call, the result after. A lost answer is no answer: the next attempt asks with the same key.
    const charge = await attempt.effect(
      'charge',
      ({ downstreamKey, signal }) => chargeAt(asked, downstreamKey, signal),
      { rule: 'downstreamKey', retentionMs: DAY_MS, input: asked, callTimeMaxMs: 5_000 },
    );
    await attempt.phase('book', async (tx) => {
      await shop.book(tx, order.id, charge.id);
      // Committed with the booking or not at all; delivered by a worker, again if it must be, under one key.
      await outbox.enqueue(tx, { topic: 'receipt', payload: { order: order.id } });
    });
    return reply(201, { id: order.id, item, charge: charge.id }, [
      ['Content-Type', 'application/json'],
      ['Location', `/orders/${order.id}`],
    ]);
  },
});

// In this process, in others, in many: they share the work by the database. It delivers the messages, and pushes on the orders that their
// client or their process has left half-way.
const worker = createWorker({
  samekey,
  handlers: {
    receipt: ({ payload }, { downstreamKey, signal }) => sendReceipt(payload, downstreamKey, signal),
  },
});
worker.start();

/** Stands for your authentication: who is calling. */
const accountOf = (/** @type {express.Request} */ req) =>
  req.get('Authorization')?.replace('Bearer ', '') ?? null;

const app = express();

app.post(
  '/orders',
  serve(placeOrder, {
    scope: accountOf,
    input(req, body) {
      const { item } = /** @type {{ item: string }} */ (body.json());
      return { account: String(accountOf(req)), item };
    },
  }),
);

app.get('/orders', async (req, res) => {
  res.json(await shop.list(String(accountOf(req))));
});

const server = app.listen(Number(process.env['PORT'] ?? 3000), (error) => {
  if (error) throw error;
  const address = server.address();
  console.log(`http://localhost:${typeof address === 'object' ? address?.port : address}`);
});

async function stop() {
  server.close();
  // Orders and messages under way are finished and recorded first.
  await worker.stop({ drainMs: 10_000 });
  await samekey.close({ drainMs: 10_000 });
  server.closeIdleConnections();
  await shop.close();
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop());
