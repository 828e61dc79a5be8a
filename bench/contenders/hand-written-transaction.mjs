/**
 * What people write by hand where key and order share a transaction: BEGIN, INSERT key ON CONFLICT DO NOTHING, INSERT order,
 * UPDATE key, COMMIT; prepared, a pool of 10, the fingerprint a SHA-256 of the raw bytes. It has no lease, no expiry and no
 * outbox; a second request of the same key waits for the first one's COMMIT.
 */
import { createHash } from 'node:crypto';
import { Pool } from 'pg';
import { readBytes, sendJson } from '../http.mjs';
import { INSERT_ORDER, ORDERS_TABLE } from '../orders.mjs';

const KEYS_TABLE =
  'CREATE TABLE IF NOT EXISTS hand_keys (key text PRIMARY KEY, digest bytea NOT NULL, status int, body text)';
const INSERT_KEY = {
  name: 'key',
  text: 'INSERT INTO hand_keys (key, digest) VALUES ($1, $2) ON CONFLICT DO NOTHING',
};
const UPDATE_KEY = { name: 'end', text: 'UPDATE hand_keys SET status = $2, body = $3 WHERE key = $1' };
const FIND_KEY = { name: 'find', text: 'SELECT digest, status, body FROM hand_keys WHERE key = $1' };

/** @type {import('../contract.d.ts').OpenContender} */
export async function open({ order, url, workload }) {
  const pool = new Pool({ connectionString: url, max: 10 });
  await pool.query(KEYS_TABLE);
  await pool.query(ORDERS_TABLE);

  /** @param {string} key @param {Buffer} bytes */
  async function run(key, bytes) {
    const digest = createHash('sha256').update(bytes).digest();
    if (workload === 'replays') {
      const known = await find(pool, key, digest);
      if (known !== null) return known;
    }
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      const { rowCount } = await client.query({ ...INSERT_KEY, values: [key, digest] });
      if (rowCount === 0) {
        // On the client that it has: all of the pool's may be held by requests that would wait for another one.
        await client.query('ROLLBACK');
        return (await find(client, key, digest)) ?? { status: 409, text: '{}' };
      }
      const body = JSON.parse(bytes.toString());
      const made = order(key, body);
      await client.query({ ...INSERT_ORDER, values: [key, body.amountCents] });
      const text = JSON.stringify(made);
      await client.query({ ...UPDATE_KEY, values: [key, 201, text] });
      await client.query('COMMIT');
      return { status: 201, text };
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  }

  /** @type {import('node:http').RequestListener} */
  const node = (req, res) =>
    readBytes(req, (bytes) => {
      run(String(req.headers['idempotency-key']), bytes).then(
        ({ status, text }) => sendJson(res, status, text),
        (error) => sendJson(res, 500, JSON.stringify({ error: String(error) })),
      );
    });
  return { express: () => [node], node, close: () => pool.end() };
}

/** @param {Pick<Pool, 'query'>} on @param {string} key @param {Buffer} digest */
async function find(on, key, digest) {
  const { rows } = await on.query({ ...FIND_KEY, values: [key] });
  const row = rows[0];
  if (row === undefined || row.status === null) return null;
  if (!digest.equals(row.digest)) return { status: 422, text: '{}' };
  return { status: Number(row.status), text: String(row.body) };
}
