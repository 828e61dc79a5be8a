/**
 * The bare route behind `idempotent` of the entry for its framework, on a store of `stores/`.
 */
import { createSamekey } from 'samekey';
import { idempotent } from 'samekey/express';
import { idempotent as idempotentHono } from 'samekey/hono';
import { idempotent as idempotentNode } from 'samekey/node';
import { readJson, sendJson } from '../http.mjs';

/** @type {import('../contract.d.ts').OpenContender} */
export async function open({ order, url, store: name, client, cache }) {
  /** @type {{ open: import('../contract.d.ts').OpenStore }} */
  const { open: openStore } = await import(`../stores/${name}.mjs`);
  const { store, close } = await openStore({ url, ...(client === undefined ? {} : { client }) });
  const samekey = createSamekey({ store, ...(cache ? {} : { replayCacheBytesMax: 0 }) });
  await samekey.ready();
  const options = {
    policy: /** @type {const} */ ('payments'),
    scope: () => ['bench', 'customer-1'],
    operation: 'orders',
  };
  return {
    express: (express) => [
      idempotent(samekey, options),
      express.json(),
      (req, res) => void res.status(201).json(order(String(req.headers['idempotency-key']), req.body)),
    ],
    node: idempotentNode(samekey, options, (req, res) =>
      readJson(req, (body) =>
        sendJson(res, 201, JSON.stringify(order(String(req.headers['idempotency-key']), body))),
      ),
    ),
    hono: [
      idempotentHono(samekey, options),
      async (c) => c.json(order(String(c.req.header('idempotency-key')), await c.req.json()), 201),
    ],
    async close() {
      await samekey.close();
      await close();
    },
  };
}
