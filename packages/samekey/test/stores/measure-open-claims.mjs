/**
 * What it costs a claim and its finish to be found later, by sweeper and reaper: measured on bare statements of the shape
 * the PostgreSQL store sends, groups of 64 on two connections. The figures in docs/internals/postgres.md come from here.
 *
 *   node packages/samekey/test/stores/measure-open-claims.mjs postgres://user@host/database [seconds per line]
 *
 * CPU of the server's two sessions is read from /proc, so the server must run on this machine (Linux).
 */

import { readFileSync } from 'node:fs';
import { Client } from 'pg';

const [, , url = '', seconds = '5'] = process.argv;
const GROUP = 64;
const BODY = Buffer.from(
  JSON.stringify({ id: 'pay_123', amount: 100, currency: 'EUR', note: 'y'.repeat(220) }),
);
const HEADERS = '[["content-type","application/json"],["location","/payments/1"]]';

/** @typedef {{ name: string, fillfactor: number, indexes: string[], side?: boolean, headers?: string }} Variant */

const CREATED = 'ON measured (created_at)';
const REAP = 'ON measured (reap_after)';
/** @type {Variant[]} */
const VARIANTS = [
  { name: 'the unique index only', fillfactor: 30, indexes: [] },
  { name: 'a mark on created_at', fillfactor: 30, indexes: [CREATED] },
  { name: 'the store: a mark on created_at, and reap_after', fillfactor: 30, indexes: [CREATED, REAP] },
  {
    name: 'a partial index on in_progress',
    fillfactor: 30,
    indexes: [CREATED, "ON measured (created_at) WHERE state = 'in_progress'"],
  },
  {
    name: 'partial indexes on in_progress and on expires_at',
    fillfactor: 30,
    indexes: [
      CREATED,
      "ON measured (created_at) WHERE state = 'in_progress'",
      "ON measured (expires_at) WHERE state IN ('completed', 'failed', 'retryable')",
    ],
  },
  { name: 'a narrow side table of open claims', fillfactor: 30, indexes: [CREATED], side: true },
  { name: 'the store with fillfactor 40', fillfactor: 40, indexes: [CREATED, REAP] },
  { name: 'the store with fillfactor 60', fillfactor: 60, indexes: [CREATED, REAP] },
  { name: 'the store with fillfactor 100', fillfactor: 100, indexes: [CREATED, REAP] },
  {
    name: 'the store with header lines as jsonb',
    fillfactor: 30,
    indexes: [CREATED, REAP],
    headers: 'jsonb',
  },
];

/** @returns {Promise<Client>} */
async function connected() {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

/** @param {Client} admin @param {Variant} variant */
async function createTable(admin, { fillfactor, indexes, headers = 'text' }) {
  await admin.query(`DROP TABLE IF EXISTS measured, measured_open;
    CREATE TABLE measured (scope text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, operation text NOT NULL,
      state text NOT NULL, attempt integer NOT NULL, claim_id text NOT NULL, locked_until timestamptz NOT NULL,
      claim_ttl_ms bigint NOT NULL, renewals integer NOT NULL, when_claim_ends text NOT NULL, fingerprint_label text,
      fingerprint_digest text, response_status integer, response_headers ${headers}, format_version integer NOT NULL,
      created_at timestamptz NOT NULL, finished_at timestamptz, expires_at timestamptz NOT NULL,
      replay_min_ms bigint NOT NULL, tombstone_ms bigint NOT NULL, reap_after timestamptz NOT NULL, response_body bytea,
      UNIQUE (scope, key)) WITH (fillfactor = ${fillfactor}, autovacuum_enabled = off);
    CREATE TABLE measured_open (scope text COLLATE "C", key text COLLATE "C", claim_id text, PRIMARY KEY (scope, key))
      WITH (autovacuum_enabled = off)`);
  for (const index of indexes) await admin.query(`CREATE INDEX ${index}`);
}

const ANSWER = 'SELECT count(*) FROM done';

/** @param {boolean | undefined} side */
function claimSql(side) {
  const open = side ? ', o AS (INSERT INTO measured_open SELECT scope, key, claim_id FROM done)' : '';
  return `WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now), done AS (
    INSERT INTO measured SELECT 'tenant-1/POST /payments', q.key, 'POST /payments', 'in_progress', 1, 'claim-' || q.key,
      t.now + interval '30 s', 30000, 0, 'unknown', 'v1/sha256', '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU',
      NULL, NULL, 1, t.now, NULL, t.now + interval '1 day', 86400000, 0, t.now + interval '1 day', NULL
    FROM t, unnest($1::text[]) AS q (key) ON CONFLICT (scope, key) DO NOTHING RETURNING scope, key, claim_id)${open}
    ${ANSWER}`;
}

/** @param {Variant} variant */
function finishSql({ side, headers = 'text' }) {
  const open = side
    ? ', o AS (DELETE FROM measured_open o USING done d WHERE o.scope = d.scope AND o.key = d.key)'
    : '';
  return `WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now), locked AS MATERIALIZED (
      SELECT r.tid, t.now FROM t, unnest($1::text[]) AS q (key) CROSS JOIN LATERAL (SELECT r.ctid AS tid FROM measured r
        WHERE r.scope = 'tenant-1/POST /payments' AND r.key = q.key AND r.claim_id = 'claim-' || q.key
        FOR NO KEY UPDATE SKIP LOCKED) r),
    done AS (UPDATE measured r SET state = 'completed', response_status = 201, response_headers = $2::${headers},
      response_body = $3, locked_until = q.now, finished_at = q.now, expires_at = q.now + interval '1 day'
      FROM locked q WHERE r.ctid = q.tid RETURNING r.scope, r.key)${open}
    ${ANSWER}`;
}

/** Milliseconds of CPU that server processes have used. @param {number[]} pids */
function cpuMs(pids) {
  return pids.reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return sum + (Number(fields[11]) + Number(fields[12])) * 10;
  }, 0);
}

/** @param {Client} admin @param {string} sql */
async function one(admin, sql) {
  return (await admin.query(sql)).rows[0];
}

/** @param {Variant} variant */
async function measure(variant) {
  const admin = await connected();
  await createTable(admin, variant);
  const [claims, finishes] = [await connected(), await connected()];
  /** @type {number[]} */
  const pids = [];
  for (const client of [claims, finishes]) {
    await client.query(`SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off;
      SET synchronous_commit = off`);
    pids.push((await one(client, 'SELECT pg_backend_pid() AS pid')).pid);
  }
  const wal = (await one(admin, 'SELECT pg_current_wal_lsn()::text AS at')).at;
  const cpu = cpuMs(pids);
  const until = performance.now() + Number(seconds) * 1000;
  /** @type {string[][]} */
  const open = [];
  let keys = 0;
  const claiming = (async () => {
    while (performance.now() < until) {
      const group = Array.from(
        { length: GROUP },
        () => `${Math.random().toString(36).slice(2)}-${(keys += 1)}`,
      );
      await claims.query({ name: 'claim', text: claimSql(variant.side), values: [group] });
      open.push(group);
      while (open.length > 8) await new Promise((resolve) => setTimeout(resolve, 1));
    }
  })();
  const finishing = (async () => {
    while (performance.now() < until || open.length > 0) {
      const group = open.shift();
      if (group === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
      else await finishes.query({ name: 'finish', text: finishSql(variant), values: [group, HEADERS, BODY] });
    }
  })();
  await Promise.all([claiming, finishing]);
  const used = cpuMs(pids) - cpu;
  const { bytes } = await one(admin, `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '${wal}') AS bytes`);
  // A session tells of what it did at its end.
  await Promise.all([claims.end(), finishes.end()]);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const { updates, hot, heap, indexes } = await one(
    admin,
    `SELECT n_tup_upd AS updates, n_tup_hot_upd AS hot, pg_table_size(relid) AS heap, pg_indexes_size(relid) AS indexes
     FROM pg_stat_user_tables WHERE relname = 'measured'`,
  );
  await admin.query('DROP TABLE measured, measured_open');
  await admin.end();
  const share = (/** @type {number} */ total) => Math.round(total / keys);
  console.log(
    `| ${variant.name} | ${Math.round((100 * hot) / updates)} % | ${((used * 1000) / keys).toFixed(1)} | ${share(bytes)} | ${share(heap)} | ${share(indexes)} |`,
  );
}

console.log('| variant | HOT | CPU per key, µs | WAL per key, bytes | table per key | indexes per key |');
console.log('| --- | --- | --- | --- | --- | --- |');
for (const variant of VARIANTS) await measure(variant);
