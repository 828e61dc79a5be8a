// @ts-check
// An Express application with one protected route: same key, same answer.
import express from 'express';
import { createSamekey } from 'samekey';
import { idempotent } from 'samekey/express';
import { sqliteStore } from 'samekey/stores/sqlite';
import { database, orders } from './orders.mjs';

// Samekey keeps its records in tables of its own, here in the application's database.
const store = sqliteStore({ service: 'shop', database });
await store.migrate();
const samekey = createSamekey({ store });
await samekey.ready();

/** Stands for your authentication: who is calling. */
const accountOf = (/** @type {express.Request} */ req) => req.get('Authorization')?.replace('Bearer ', '');

const app = express();

app.post(
  '/orders',
  // After authentication, before the body parser. `standard`: when this route answers 5xx, nothing has happened.
  idempotent(samekey, { policy: 'standard', scope: accountOf, waitMaxMs: 5_000 }),
  express.json(),
  // From here on the route is as it was.
  async (req, res) => {
    const { item } = req.body;
    const id = await orders.add(accountOf(req), item);
    res.status(201).location(`/orders/${id}`).json({ id, item });
  },
);

app.get('/orders', async (req, res) => {
  res.json(await orders.list(accountOf(req)));
});

const server = app.listen(Number(process.env['PORT'] ?? 3000), (error) => {
  if (error) throw error;
  const address = server.address();
  console.log(`http://localhost:${typeof address === 'object' ? address?.port : address}`);
});

async function stop() {
  server.close();
  // Orders under way are finished and recorded first.
  await samekey.close({ drainMs: 10_000 });
  server.closeIdleConnections();
  await orders.close();
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop());
