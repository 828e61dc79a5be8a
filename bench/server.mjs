/**
 * The server that is measured: one Express 5 application with a bare and a protected route that do the same. Told by its
 * parent to begin afresh (an empty store, a collected heap) and to say how much CPU it has used.
 */
import { once } from 'node:events';
import express from 'express';
import { createSamekey } from 'samekey';
import { idempotent } from 'samekey/express';
import { memoryStore } from 'samekey/stores/memory';

/** @type {import('express').RequestHandler} */
const order = (req, res) => {
  res.status(201).json({ id: 'ord_1', amountCents: req.body.amountCents, items: req.body.items.length });
};

/** @type {import('express').RequestHandler} */
let protect = fresh();

const app = express();
app.post('/bare', express.json(), order);
app.post('/protected', (req, res, next) => protect(req, res, next), express.json(), order);
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');

process.on('message', (message) => {
  if (message === 'fresh') {
    protect = fresh();
    globalThis.gc?.();
  }
  if (message === 'stop') process.exit(0);
  process.send?.(process.cpuUsage());
});
// @ts-expect-error -- a server that listens on a port has an address
process.send?.({ port: server.address().port });

function fresh() {
  const samekey = createSamekey({ store: memoryStore({ recordsMax: 1_000_000 }) });
  return idempotent(samekey, { policy: 'payments', scope: () => ['bench', 'customer-1'] });
}
