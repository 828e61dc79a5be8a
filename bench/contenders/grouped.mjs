/**
 * What grouping alone can give: two connections, each with one statement at a time that carries everything which has come
 * meanwhile, up to 500 rows: the answers of handlers that have run, the keys that are new, and the rows of those that are
 * known. The payload is compared by the SHA-256 of its raw bytes. It is a measure and no protection: it has no lease, no
 * expiry, no scope, and a process that dies leaves its keys stuck.
 */
import { createHash } from 'node:crypto';
import { Client } from 'pg';
import { readBytes, sendJson } from '../http.mjs';

const TABLE = `CREATE TABLE IF NOT EXISTS grouped (key text COLLATE "C" PRIMARY KEY, digest bytea NOT NULL,
  status int, body text) WITH (fillfactor = 50)`;
const FLUSH = {
  name: 'flush',
  text: `WITH ended AS (UPDATE grouped g SET status = e.status, body = e.body
  FROM unnest($1::text[], $2::int[], $3::text[]) AS e (key, status, body) WHERE g.key = e.key),
wanted AS MATERIALIZED (SELECT * FROM unnest($4::text[], $5::bytea[]) AS w (key, digest)),
known AS MATERIALIZED (SELECT w.key, g.digest, g.status, g.body FROM wanted w
  CROSS JOIN LATERAL (SELECT * FROM grouped g WHERE g.key = w.key LIMIT 1) g),
fresh AS (INSERT INTO grouped (key, digest) SELECT w.key, w.digest FROM wanted w
  WHERE NOT EXISTS (SELECT FROM known k WHERE k.key = w.key) ON CONFLICT DO NOTHING RETURNING key)
SELECT key, NULL::bytea AS digest, NULL::int AS status, NULL::text AS body, true AS fresh FROM fresh
UNION ALL SELECT key, digest, status, body, false FROM known`,
};
const ROWS_MAX = 500;
const CONNECTIONS = 2;

/**
 * @typedef {{ key: string, digest: Buffer, status: number | null, body: string | null, fresh: boolean }} Row
 * @typedef {{ key: string, digest: Buffer, resolve: (row: Row | undefined) => void }} Claim
 * @typedef {{ key: string, status: number, body: string, resolve: () => void }} End
 */

/** @type {import('../contract.d.ts').OpenContender} */
export async function open({ order, url }) {
  const clients = Array.from({ length: CONNECTIONS }, () => new Client({ connectionString: url }));
  for (const client of clients) {
    await client.connect();
    // Else a plan that is made on the empty table reads all of it for ever.
    await client.query('SET enable_seqscan = off');
  }
  await clients[0]?.query(TABLE);
  const { claim, end } = grouping(clients);

  /** @param {string} key @param {Buffer} bytes */
  async function run(key, bytes) {
    const digest = createHash('sha256').update(bytes).digest();
    const row = await claim(key, digest);
    if (row?.fresh) {
      const text = JSON.stringify(order(key, JSON.parse(bytes.toString())));
      await end(key, 201, text);
      return { status: 201, text };
    }
    if (row === undefined || row.status === null) return { status: 409, text: '{}' };
    if (!digest.equals(row.digest)) return { status: 422, text: '{}' };
    return { status: row.status, text: String(row.body) };
  }

  return {
    express: (express) => [
      express.raw({ type: () => true }),
      async (req, res) => {
        const { status, text } = await run(String(req.headers['idempotency-key']), req.body);
        res.status(status).type('json').send(text);
      },
    ],
    node: (req, res) =>
      readBytes(req, (bytes) => {
        void run(String(req.headers['idempotency-key']), bytes).then(({ status, text }) =>
          sendJson(res, status, text),
        );
      }),
    hono: [
      async (c) => {
        const bytes = Buffer.from(await c.req.arrayBuffer());
        const { status, text } = await run(String(c.req.header('idempotency-key')), bytes);
        return c.body(text, /** @type {201} */ (status), { 'Content-Type': 'application/json' });
      },
    ],
    async close() {
      for (const client of clients) await client.end();
    },
  };
}

/** @param {readonly Client[]} clients */
function grouping(clients) {
  const free = [...clients];
  /** @type {Claim[]} */
  let claims = [];
  /** @type {End[]} */
  let ends = [];

  async function pump() {
    const client = free.pop();
    if (client === undefined) return;
    while (claims.length + ends.length > 0) {
      const ended = ends.splice(0, ROWS_MAX);
      const asked = new Map(claims.slice(0, ROWS_MAX).map((one) => [one.key, one]));
      // Two of one key do not travel together.
      claims = claims.filter((one) => asked.get(one.key) !== one);
      const wanted = [...asked.values()];
      const { rows } = await client.query({
        ...FLUSH,
        values: [
          ended.map(({ key }) => key),
          ended.map(({ status }) => status),
          ended.map(({ body }) => body),
          wanted.map(({ key }) => key),
          wanted.map(({ digest }) => digest),
        ],
      });
      const found = new Map(rows.map((/** @type {Row} */ row) => [row.key, row]));
      for (const one of ended) one.resolve();
      for (const one of wanted) one.resolve(found.get(one.key));
    }
    free.push(client);
  }

  // What this turn of the event loop still reads comes along.
  const soon = () => void setImmediate(() => void pump());
  return {
    /** @param {string} key @param {Buffer} digest @returns {Promise<Row | undefined>} */
    claim: (key, digest) =>
      new Promise((resolve) => {
        claims.push({ key, digest, resolve });
        if (claims.length + ends.length === 1) soon();
      }),
    /** @param {string} key @param {number} status @param {string} body @returns {Promise<void>} */
    end: (key, status, body) =>
      new Promise((resolve) => {
        ends.push({ key, status, body, resolve });
        if (claims.length + ends.length === 1) soon();
      }),
  };
}
