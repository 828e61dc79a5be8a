// @ts-check
// An Express application with one protected route: same key, same answer.
import express from 'express';
import Database from 'libsql';
import { createSamekey } from 'samekey';
import { idempotent } from 'samekey/express';
import { sqliteStore } from 'samekey/stores/sqlite';

const database = new Database(process.env['DATABASE'] ?? 'orders.db');
database.exec('CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, account TEXT, item TEXT)');

// Samekey keeps its records in tables of its own, here in the application's database.
const store = sqliteStore({ database });
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
  (req, res) => {
    const { item } = req.body;
    const { lastInsertRowid } = database
      .prepare('INSERT INTO orders (account, item) VALUES (?, ?)')
      .run(accountOf(req), item);
    res
      .status(201)
      .location(`/orders/${lastInsertRowid}`)
      .json({ id: Number(lastInsertRowid), item });
  },
);

app.get('/orders', (req, res) => {
  res.json(database.prepare('SELECT id, item FROM orders WHERE account = ?').all(accountOf(req)));
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
  database.close();
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop());
