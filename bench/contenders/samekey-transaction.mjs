/** The same order by `samekey.transactional`, as the guide shows it: `fromPg` over the same pool of 10. */
import { Pool } from 'pg';
import { createSamekey, reply } from 'samekey';
import { serve } from 'samekey/express';
import { postgresStore } from 'samekey/stores/postgres';
import { fromPg } from 'samekey/tx/pg';
import { INSERT_ORDER, ORDERS_TABLE } from '../orders.mjs';

/** @type {import('../contract.d.ts').OpenContender} */
export async function open({ order, url, cache }) {
  const pool = new Pool({ connectionString: url, max: 10 });
  await pool.query(ORDERS_TABLE);
  const store = postgresStore({ service: 'bench', pool });
  await store.migrate();
  const samekey = createSamekey({
    store,
    transactions: fromPg(pool),
    ...(cache ? {} : { replayCacheBytesMax: 0 }),
  });
  await samekey.ready();
  const placeOrder = samekey.transactional({
    name: 'orders',
    policy: 'payments',
    run: async (/** @type {{ key: string, body: { amountCents: number } }} */ { key, body }, { tx }) => {
      const made = order(key, body);
      await tx.query({ ...INSERT_ORDER, values: [key, body.amountCents] });
      return reply(201, made);
    },
  });
  const handler = serve(placeOrder, {
    scope: () => ['bench', 'customer-1'],
    input: async (req, body) => ({
      key: String(req.headers['idempotency-key']),
      body: body.json(),
    }),
  });
  return {
    express: () => [handler],
    // It asks nothing of a request or an answer but what node:http gives them.
    node: (req, res) => void handler(/** @type {any} */ (req), /** @type {any} */ (res), () => undefined),
    async close() {
      await samekey.close();
      await pool.end();
    },
  };
}
