/**
 * What people write by hand, at its fastest: insert the key, run, update with the answer; two prepared statements, two
 * commits, a pool of 10. It has no fingerprint, no lease, no expiry, and a crash between the two leaves the key stuck. In
 * `replays` it only looks up: one prepared SELECT.
 */
import { Pool } from 'pg';
import { readJson, sendJson } from '../http.mjs';

const INSERT = {
  name: 'begin',
  text: 'INSERT INTO hand_written (key) VALUES ($1) ON CONFLICT DO NOTHING',
};
const UPDATE = { name: 'end', text: 'UPDATE hand_written SET status = $2, body = $3 WHERE key = $1' };
const SELECT = { name: 'find', text: 'SELECT status, body FROM hand_written WHERE key = $1' };

/** @type {import('../contract.d.ts').OpenContender} */
export async function open({ order, url, workload }) {
  const pool = new Pool({ connectionString: url, max: 10 });
  await pool.query('CREATE TABLE IF NOT EXISTS hand_written (key text PRIMARY KEY, status int, body text)');
  const looksUpFirst = workload === 'replays';

  /**
   * @param {string} key
   * @param {unknown} body
   * @returns {Promise<{ status: number, text: string }>}
   */
  async function run(key, body) {
    if (looksUpFirst) {
      const known = await find(key);
      if (known !== null) return known;
    }
    const { rowCount } = await pool.query({ ...INSERT, values: [key] });
    if (rowCount === 0) return (await find(key)) ?? { status: 409, text: '{}' };
    const text = JSON.stringify(order(key, body));
    await pool.query({ ...UPDATE, values: [key, 201, text] });
    return { status: 201, text };
  }

  /** @param {string} key */
  async function find(key) {
    const { rows } = await pool.query({ ...SELECT, values: [key] });
    const row = rows[0];
    return row === undefined || row.status === null
      ? null
      : { status: Number(row.status), text: String(row.body) };
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
    hono: [
      async (c) => {
        const { status, text } = await run(String(c.req.header('idempotency-key')), await c.req.json());
        return c.body(text, /** @type {201} */ (status), { 'Content-Type': 'application/json' });
      },
    ],
    close: () => pool.end(),
  };
}
