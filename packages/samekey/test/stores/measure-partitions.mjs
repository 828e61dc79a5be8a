/**
 * Claims and finishes on records in hash partitions beside one table without, in turns: `node … <url> [partitions] [seconds] [turns]`.
 * Through the store's verbs, 64 rows a call on two lanes, as the dispatcher groups them; medians, and the server's CPU is not looked at.
 */
import { randomUUID } from 'node:crypto';
import { Client, Pool } from 'pg';
import { postgresStore } from 'samekey/stores/postgres';

const [url = '', partitions = '16', seconds = '4', turns = '5'] = process.argv.slice(2);
const ROWS = 64;
const LANES = 2;

/** @param {number} count */
async function open(count) {
  const schema = `measured_${count}`;
  const admin = new Client({ connectionString: url });
  await admin.connect();
  await admin.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  const pool = new Pool({ connectionString: url });
  const store = postgresStore({ service: 'test', pool, schema, partitions: count });
  await store.migrate();
  await store.ready();
  return {
    store,
    async close() {
      await store.close();
      await pool.end();
      await admin.query(`DROP SCHEMA ${schema} CASCADE`);
      await admin.end();
    },
  };
}

/** @param {import('samekey/stores/postgres').PostgresStore} store */
async function keysPerSecond(store) {
  const endsAt = performance.now() + Number(seconds) * 1_000;
  let keys = 0;
  const body = new TextEncoder().encode('x'.repeat(270));
  async function lane() {
    while (performance.now() < endsAt) {
      const requests = Array.from({ length: ROWS }, () => ({
        scope: `tenant-${Math.floor(Math.random() * 100)}|POST /payments`,
        key: randomUUID(),
        operation: 'POST /payments',
        claimId: randomUUID(),
        claimTtlMs: 30_000,
        fingerprint: { label: 'v1/sha256', digest: 'd'.repeat(43) },
        whenClaimEnds: /** @type {const} */ ('unknown'),
        retentionMs: 86_400_000,
        replayMinMs: 86_400_000,
        tombstoneMs: 0,
        attemptMax: 10,
        formatVersion: 1,
        entry: /** @type {const} */ ('run'),
        input: null,
        pendingTimeMaxMs: 30_000,
      }));
      await store.claim(requests);
      await store.finish(
        requests.map(({ scope, key, claimId }) => ({
          scope,
          key,
          claimId,
          attempt: 1,
          to: /** @type {const} */ ('completed'),
          proof: null,
          reason: null,
          response: { status: 201, headers: [], body },
          unbindFingerprint: false,
          extendMs: 0,
          reconcileAfterMs: 5_000,
          handedOver: false,
        })),
      );
      keys += ROWS;
    }
  }
  const from = performance.now();
  await Promise.all(Array.from({ length: LANES }, lane));
  return (keys * 1_000) / (performance.now() - from);
}

const kinds = await Promise.all([0, Number(partitions)].map(open));
/** @type {number[][]} */
const seen = kinds.map(() => []);
for (let turn = 0; turn <= Number(turns); turn += 1) {
  for (const [i, { store }] of kinds.entries()) {
    const speed = await keysPerSecond(store);
    // The first turn warms up.
    if (turn > 0) seen[i]?.push(speed);
  }
}
for (const [i, speeds] of seen.entries()) {
  const sorted = speeds.toSorted((a, b) => a - b);
  const shown = [sorted[sorted.length >> 1], sorted[0], sorted.at(-1)].map((speed) => Math.round(speed ?? 0));
  console.log(
    `${i === 0 ? 'one table' : `${partitions} partitions`}: median ${shown[0]} keys/s (${shown[1]}–${shown[2]})`,
  );
}
await Promise.all(kinds.map((kind) => kind.close()));
