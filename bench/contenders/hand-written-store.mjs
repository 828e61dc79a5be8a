/** What people write by hand around their route with the client of another store than PostgreSQL: a module of `hand-written/`. */
import { readJson, sendJson } from '../http.mjs';

/** @type {import('../contract.d.ts').OpenContender} */
export async function open({ order, url, store, workload, ...rest }) {
  /** @type {{ open: import('../contract.d.ts').OpenHandWritten }} */
  const { open: openStore } = await import(`../hand-written/${store}.mjs`);
  const { begin, end, find, close } = await openStore({ url, ...rest });
  const looksUpFirst = workload === 'replays';

  /**
   * @param {string} key
   * @param {unknown} body
   * @returns {Promise<{ status: number, text: string }>}
   */
  async function run(key, body) {
    if (looksUpFirst || !(await begin(key))) {
      const text = await find(key);
      if (text !== null) return { status: 201, text };
      if (!looksUpFirst || !(await begin(key))) return { status: 409, text: '{}' };
    }
    const text = JSON.stringify(order(key, body));
    await end(key, text);
    return { status: 201, text };
  }

  return {
    express: (express) => [
      express.json(),
      async (req, res) => {
        const { status, text } = await run(String(req.headers['idempotency-key']), req.body);
        res.status(status).type('json').send(text);
      },
    ],
    node: (req, res) =>
      readJson(req, (body) => {
        void run(String(req.headers['idempotency-key']), body).then(({ status, text }) =>
          sendJson(res, status, text),
        );
      }),
    close,
  };
}
