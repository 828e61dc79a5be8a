/** The same order by `samekey.transactional`, as the guide shows it: `fromPg` over the same pool of 10. */
import { Pool } from 'pg';
import { createSamekey, reply } from 'samekey';
import { serve } from 'samekey/express';
import { serve as serveNode } from 'samekey/node';
import { postgresStore } from 'samekey/stores/postgres';
import { fromPg } from 'samekey/tx/pg';
import { INSERT_ORDER, ORDERS_TABLE } from '../orders.mjs';

/** @type {import('../contract.d.ts').OpenContender} */
export const open = (options) => openReserving('before', options);

/**
 * @param {'before' | 'in-transaction'} reserve
 * @param {import('../contract.d.ts').ContenderOptions} options
 */
export async function openReserving(reserve, { order, url, cache }) {
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
    reserve,
    run: async (/** @type {{ key: string, body: { amountCents: number } }} */ { key, body }, { tx }) => {
      const made = order(key, body);
      await tx.query({ ...INSERT_ORDER, values: [key, body.amountCents] });
      return reply(201, made);
    },
  });
  const options = {
    scope: () => ['bench', 'customer-1'],
    input: async (
      /** @type {import('node:http').IncomingMessage} */ req,
      /** @type {import('samekey/node').ServedBody} */ body,
    ) => ({
      key: String(req.headers['idempotency-key']),
      body: /** @type {{ amountCents: number }} */ (body.json()),
    }),
  };
  return {
    express: () => [serve(placeOrder, options)],
    node: serveNode(placeOrder, options),
    async close() {
      await samekey.close();
      await pool.end();
    },
  };
}
