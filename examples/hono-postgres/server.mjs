// @ts-check
// A Hono application on Node with one protected route: same key, same answer.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createSamekey } from 'samekey';
import { idempotent } from 'samekey/hono';
import { postgresStore } from 'samekey/stores/postgres';
import { database, orders } from './orders.mjs';

// Samekey keeps its records in tables of its own, here in the application's database; `samekey migrate` makes them.
const store = postgresStore({ service: 'shop', pool: database });
const samekey = createSamekey({ store });
await samekey.ready();

/** @type {Hono<{ Variables: { account: string | undefined } }>} */
const app = new Hono();

// Stands for your authentication: who is calling.
app.use(async (c, next) => {
  c.set('account', c.req.header('Authorization')?.replace('Bearer ', ''));
  await next();
});

app.post(
  '/orders',
  // After authentication, before whatever reads the body. `standard`: when this route answers 5xx, nothing has happened.
  idempotent(samekey, { policy: 'standard', scope: (c) => c.get('account'), waitMaxMs: 5_000 }),
  // From here on the route is as it was.
  async (c) => {
    const { item } = await c.req.json();
    const id = await orders.add(c.get('account'), item);
    c.header('Location', `/orders/${id}`);
    return c.json({ id, item }, 201);
  },
);

app.get('/orders', async (c) => c.json(await orders.list(c.get('account'))));

const server = serve({ fetch: app.fetch, port: Number(process.env['PORT'] ?? 3000) }, ({ port }) => {
  console.log(`http://localhost:${port}`);
});

async function stop() {
  server.close();
  // Orders under way are finished and recorded first.
  await samekey.close({ drainMs: 10_000 });
  if ('closeIdleConnections' in server) server.closeIdleConnections();
  await orders.close();
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop());
