/**
 * What the reaper costs the traffic beside it, and what a sweep costs on a small and on a large table. PostgreSQL, filled by SQL; new
 * keys are sent without and with a janitor that reaps, in turns, so that a machine that gets slower meanwhile changes both. Who waits
 * for a lock, and since when, is looked at every 50 ms. See README.md.
 */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client, Pool } from 'pg';
import { createSamekey } from 'samekey';
import { createJanitor } from 'samekey/janitor';
import { postgresStore } from 'samekey/stores/postgres';
import { startDatabase } from './database.mjs';
import { machine } from './machine.mjs';
import { median, percentile, row } from './table.mjs';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '5000000' },
    expired: { type: 'string', default: '1000000' },
    callers: { type: 'string', default: '64' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    /** How long the traffic-free rest of the reap may take. */
    'rest-seconds': { type: 'string', default: '600' },
  },
});
const rows = Number(values.rows);
const expired = Number(values.expired);
const callers = Number(values.callers);
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const LOOK_MS = 50;
const DUE = 1_000;

const database = await startDatabase();
const pool = new Pool({ connectionString: database.url, max: 4 });
const store = postgresStore({ service: 'test', pool });
const samekey = createSamekey({ store, policy: 'standard' });
const admin = new Client(database.url);
await admin.connect();
try {
  await store.migrate();
  console.log(`${machine()}\n${database.describe}`);
  await fill(0, rows / 5, expired);
  const small = await sweepMs('small');
  await fill(rows / 5, rows, 0);
  const large = await sweepMs('large');
  console.log(
    `A sweep of ${DUE} that are over, median of 5, ms: ${small.toFixed(1)} of ${rows / 5} rows, ${large.toFixed(1)} of ${rows}: ×${(large / small).toFixed(2)}`,
  );
  await besideTraffic();
} finally {
  await samekey.close();
  await pool.end();
  await admin.end();
  await database.stop();
}

/**
 * Records from `from` on; the first `over` of the table are past their retention.
 *
 * @param {number} from
 * @param {number} to
 * @param {number} over
 */
async function fill(from, to, over) {
  await admin.query(
    `INSERT INTO samekey_records (scope, key, operation, state, attempt, claim_id, locked_until, claim_ttl_ms, renewals,
       when_claim_ends, format_version, created_at, expires_at, replay_min_ms, attempt_max, tombstone_ms, reap_after, response_status,
       response_headers, response_body)
     SELECT 'caller-' || n % 1000 || '|op', md5(n::text), 'op', 'completed', 1, 'c' || n, t, 30000, 0, 'unknown', 1, t, e, 0, 10, 0, e, 200, '[]',
       convert_to(repeat('x', 200), 'UTF8')
     FROM generate_series($1::bigint, $2::bigint - 1) AS n,
       LATERAL (SELECT now() - interval '20 hours' + n * interval '1 ms' AS t,
         CASE WHEN n < $3::bigint THEN now() - interval '1 hour' ELSE now() + interval '1 day' END AS e) AS x`,
    [from, to, over],
  );
  await admin.query('VACUUM (ANALYZE) samekey_records');
}

/**
 * The same number of claims that are over, in a table of another size.
 *
 * @param {string} name
 */
async function sweepMs(name) {
  // The first sweeps move the mark to the new end.
  for (let i = 0; i < 60; i += 1) await store.sweep(DUE);
  /** @type {number[]} */
  const times = [];
  for (let round = 0; round < 5; round += 1) {
    const claims = Array.from({ length: DUE }, (_, i) => claim(`${name}-${round}-${i}`));
    await store.claim(claims);
    await sleep(20);
    const from = performance.now();
    const swept = await store.sweep(DUE * 2);
    times.push(performance.now() - from);
    if (swept.length !== DUE) throw new Error(`swept ${swept.length} of ${DUE}`);
  }
  return median(times);
}

/** @param {string} key */
function claim(key) {
  return {
    scope: 'sweep|op',
    key,
    operation: 'op',
    claimId: randomUUID(),
    claimTtlMs: 1,
    fingerprint: { label: 'v1', digest: 'd' },
    whenClaimEnds: /** @type {const} */ ('resume'),
    retentionMs: 86_400_000,
    replayMinMs: 0,
    tombstoneMs: 0,
    attemptMax: 10,
    formatVersion: 1,
    readVersion: 1,
    entry: /** @type {const} */ ('run'),
    input: null,
    pendingTimeMaxMs: 0,
  };
}

/** Rounds without and with the reaper, then the rest of the reap alone. */
async function besideTraffic() {
  const report = { reaped: 0, ms: 0 };
  console.log(row('', ['keys/s', 'p50 ms', 'p99 ms', 'waits', '≥100 ms', 'reaped']));
  for (let round = 0; round < rounds; round += 1) {
    await traffic('without', null);
    await traffic('with', report);
  }
  const from = performance.now();
  const janitor = createJanitor({ store, runTimeMaxMs: Number(values['rest-seconds']) * 1000 });
  const { reaped } = await janitor.run();
  report.ms += performance.now() - from;
  report.reaped += reaped;
  console.log(
    `Reaped ${report.reaped} in ${(report.ms / 1000).toFixed(1)} s of reaping, ${reaped} of them without traffic.`,
  );
}

/**
 * @param {string} name
 * @param {{ reaped: number, ms: number } | null} report
 */
async function traffic(name, report) {
  const janitor = createJanitor({
    store: postgresStore({ service: 'test', pool }),
    onEvent: (event) => void (event.type === 'reaped' && (count += event.count)),
  });
  let count = 0;
  const waits = watchLocks();
  const from = performance.now();
  const until = from + seconds * 1000;
  const reaping = report === null ? null : janitor.run();
  /** @type {number[]} */
  const times = [];
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() < until) {
        const sent = performance.now();
        const outcome = await samekey.run(
          { operation: 'op', scope: ['bench'], key: randomUUID(), fingerprint: { amount: 1 } },
          async () => 'x'.repeat(200),
        );
        if (outcome.kind !== 'executed') throw new Error(`a new key was answered ${outcome.kind}`);
        times.push(performance.now() - sent);
      }
    }),
  );
  await janitor.stop();
  await reaping;
  const { seen, long } = await waits();
  if (report !== null) {
    report.reaped += count;
    report.ms += performance.now() - from;
  }
  times.sort((a, b) => a - b);
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
  const told = [times.length / seconds, p50, p99, seen, long, count];
  console.log(
    row(
      name,
      told.map((value) => value.toFixed(1)),
    ),
  );
}

/** Looks who waits for a lock; what it returns ends it and tells how many waits were seen, and how many lasted 100 ms or more. */
function watchLocks() {
  const state = { going: true };
  let seen = 0;
  let long = 0;
  const looking = (async () => {
    while (state.going) {
      const { rows: waiting } = await admin.query(
        `SELECT extract(epoch FROM clock_timestamp() - l.waitstart) * 1000 AS ms
         FROM pg_locks l WHERE NOT l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      );
      seen += waiting.length;
      long += waiting.filter(({ ms }) => Number(ms) >= 100).length;
      await sleep(LOOK_MS);
    }
  })();
  return async () => {
    state.going = false;
    await looking;
    return { seen, long };
  };
}
