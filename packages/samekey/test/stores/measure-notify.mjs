/**
 * What it would cost a flush of finishes to say NOTIFY in its own transaction, whether somebody waits or not: bare statements of
 * the shape the PostgreSQL store sends, groups of 64, from one to eight processes' connections. The figures in
 * docs/internals/postgres.md come from here.
 *
 *   node packages/samekey/test/stores/measure-notify.mjs postgres://user@host/database [seconds per line]
 */

import { Client } from 'pg';

const [, , url = '', seconds = '3'] = process.argv;
const GROUP = 64;
const ROUNDS = 3;
const NAMES = Array.from({ length: GROUP }, (_, i) => i.toString(16).padStart(8, '0')).join(',');
const BODY = Buffer.from('x'.repeat(300));

const UPDATE = `UPDATE measured SET state = 'completed', body = $2 WHERE id = ANY ($1::int[])`;
const WITHOUT = `WITH done AS (${UPDATE} RETURNING id) SELECT id FROM done`;
const WITH = `WITH done AS (${UPDATE} RETURNING id), said AS MATERIALIZED (SELECT pg_notify('measured', '${NAMES}'))
SELECT id FROM done, said`;

/** @returns {Promise<Client>} */
async function connected() {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

/** @param {number} connections @param {string} text @returns {Promise<number>} finishes a second */
async function measure(connections, text) {
  const clients = await Promise.all(Array.from({ length: connections }, connected));
  const until = performance.now() + Number(seconds) * 1000;
  let rows = 0;
  const from = performance.now();
  await Promise.all(
    clients.map(async (client, c) => {
      for (let n = 0; performance.now() < until; n += 1) {
        const ids = Array.from({ length: GROUP }, (_, i) => c * 10_000 + ((n * GROUP + i) % 10_000));
        await client.query({ name: `finish${text.length}`, text, values: [ids, BODY] });
        rows += GROUP;
      }
    }),
  );
  const took = (performance.now() - from) / 1000;
  await Promise.all(clients.map((client) => client.end()));
  return rows / took;
}

/** @param {number[] | undefined} all */
function middle(all) {
  return all?.toSorted((a, b) => a - b)[1] ?? 0;
}

const admin = await connected();
await admin.query('DROP TABLE IF EXISTS measured');
await admin.query(
  `CREATE TABLE measured (id int PRIMARY KEY, state text, body bytea) WITH (fillfactor = 30)`,
);
await admin.query(`INSERT INTO measured SELECT i, 'in_progress', NULL FROM generate_series(0, 79999) i`);
await admin.query('VACUUM ANALYZE measured');
const listener = await connected();
await listener.query('LISTEN measured');
for (const connections of [1, 2, 4, 8]) {
  const [without, within] = [0, 0].map(() => /** @type {number[]} */ ([]));
  for (let round = 0; round < ROUNDS; round += 1) {
    without?.push(await measure(connections, WITHOUT));
    within?.push(await measure(connections, WITH));
  }
  const [plain, notified] = [middle(without), middle(within)];
  const cost = `${((1 - notified / plain) * 100).toFixed(1)} %`;
  console.log(
    `${connections} connections: ${plain.toFixed(0)}/s without, ${notified.toFixed(0)}/s with NOTIFY, cost ${cost}`,
  );
}
await admin.query('DROP TABLE measured');
await Promise.all([admin.end(), listener.end()]);
