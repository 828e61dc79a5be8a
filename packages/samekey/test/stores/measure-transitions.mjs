/**
 * What the audit of transitions costs: claims and finishes in groups of 64 through the built PostgreSQL store, with the triggers and
 * without, in turns on fresh schemas. The figures in docs/internals/postgres.md come from here.
 *
 *   node packages/samekey/test/stores/measure-transitions.mjs postgres://user@host/database [seconds per turn] [turns]
 *
 * CPU of the store's sessions on the server is read from /proc, so the server must run on this machine (Linux).
 */

import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { postgresStore } from 'samekey/stores/postgres';

const [, , url = '', seconds = '4', turns = '5'] = process.argv;
const GROUP = 64;
const LANES = 2;
const BODY = Buffer.from(JSON.stringify({ id: 'pay_123', amount: 100, note: 'y'.repeat(250) }));
/** Clock ticks of /proc a second. */
const TICKS = 100;

/** @param {Client} admin */
async function cpuMs(admin) {
  const { rows } = await admin.query("SELECT pid FROM pg_stat_activity WHERE application_name = 'samekey'");
  let ticks = 0;
  for (const { pid } of rows) {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return (ticks * 1_000) / TICKS;
}

/** @param {boolean} auditTransitions @param {number} turn @param {Client} admin */
async function measure(auditTransitions, turn, admin) {
  const schema = `measure_${auditTransitions ? 'on' : 'off'}_${turn}`;
  const store = postgresStore({
    service: 'test',
    connect: () => new Client({ connectionString: url }),
    schema,
    auditTransitions,
  });
  await store.migrate();
  await store.ready();
  let keys = 0;
  const lane = async (/** @type {string} */ name, /** @type {number} */ until) => {
    for (let round = 0; performance.now() < until; round += 1) {
      const claims = Array.from({ length: GROUP }, (_, i) => ({
        scope: 'tenant-1|POST /payments',
        key: `${name}-${round}-${i}-${Math.random()}`,
        operation: 'POST /payments',
        claimId: `${name}-${round}-${i}`,
        claimTtlMs: 30_000,
        fingerprint: { label: 'v1', digest: 'd'.repeat(43) },
        whenClaimEnds: /** @type {const} */ ('unknown'),
        retentionMs: 86_400_000,
        replayMinMs: 86_400_000,
        tombstoneMs: 0,
        attemptMax: 10,
        formatVersion: 1,
        entry: /** @type {const} */ ('run'),
        input: null,
        pendingTimeMaxMs: 0,
      }));
      await store.claim(claims);
      await store.finish(
        claims.map(({ scope, key, claimId }) => ({
          scope,
          key,
          claimId,
          attempt: 1,
          to: /** @type {const} */ ('completed'),
          proof: null,
          reason: null,
          response: { status: 201, headers: [], body: BODY },
          unbindFingerprint: false,
          extendMs: 0,
          reconcileAfterMs: 0,
          handedOver: false,
        })),
      );
      keys += GROUP;
    }
  };
  const run = async (/** @type {number} */ ms) => {
    const until = performance.now() + ms;
    await Promise.all(Array.from({ length: LANES }, (_, i) => lane(`l${i}`, until)));
  };
  await run(500);
  keys = 0;
  const before = await cpuMs(admin);
  const began = performance.now();
  await run(Number(seconds) * 1_000);
  const rate = (keys / (performance.now() - began)) * 1_000;
  const cpuUs = ((await cpuMs(admin)) - before) * 1_000;
  const perKeyUs = cpuUs / keys;
  await store.close();
  await admin.query(`SET client_min_messages = error; DROP SCHEMA ${schema} CASCADE`);
  return { rate, perKeyUs };
}

/** @param {readonly number[]} values */
function spread(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const median = sorted[sorted.length >> 1] ?? 0;
  return `${median.toFixed(0)} (${(sorted[0] ?? 0).toFixed(0)}–${(sorted.at(-1) ?? 0).toFixed(0)})`;
}

const admin = new Client({ connectionString: url });
await admin.connect();
/** @type {Record<string, { rate: number, perKeyUs: number }[]>} */
const found = { off: [], on: [] };
for (let turn = 0; turn < Number(turns); turn += 1) {
  for (const on of turn % 2 === 0 ? [false, true] : [true, false]) {
    found[on ? 'on' : 'off']?.push(await measure(on, turn, admin));
  }
}
for (const [name, runs] of Object.entries(found)) {
  const rates = spread(runs.map(({ rate }) => rate));
  const cpu = spread(runs.map(({ perKeyUs }) => perKeyUs));
  console.log(`transitions ${name}: ${rates} keys/s, ${cpu} µs of the server's CPU a key`);
}
await admin.end();
