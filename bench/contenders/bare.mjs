/** The same work without any protection: it parses the same JSON and gives the same answer. The ceiling of this machine. */
import { readJson, sendJson } from '../http.mjs';

/** @type {import('../contract.d.ts').OpenContender} */
export async function open({ order }) {
  return {
    express: (express) => [
      express.json(),
      (req, res) => void res.status(201).json(order(String(req.headers['idempotency-key']), req.body)),
    ],
    node: (req, res) =>
      readJson(req, (body) =>
        sendJson(res, 201, JSON.stringify(order(String(req.headers['idempotency-key']), body))),
      ),
    hono: [async (c) => c.json(order(String(c.req.header('idempotency-key')), await c.req.json()), 201)],
    close: async () => undefined,
  };
}
